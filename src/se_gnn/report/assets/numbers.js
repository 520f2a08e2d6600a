// Numbers as the rest of the page writes them.

// A share in percent: enough digits to tell small ones apart, and never 0% or 100% for what is neither.
export function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1%";
  if (share > 0 && share < 0.0995) return `${(100 * share).toFixed(1)}%`;
  if (share >= 0.995 && share < 1) return ">99%";
  return `${Math.round(100 * share)}%`;
}

export function grouped(count) {
  return count.toLocaleString("en-US");
}
