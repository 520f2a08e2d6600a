"""x."""
TITLE=""
def series(): return []
def render(store, pictures): return ""
