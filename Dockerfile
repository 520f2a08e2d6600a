# The explorer and the service: docker run -p 8000:8000 -v ./model:/model:ro -v ./token:/run/secrets/token:ro se-gnn
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv /opt/se-gnn \
 && /opt/se-gnn/bin/pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
      -c /source/constraints.txt '/source[serve]'

FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/se-gnn /opt/se-gnn
# an ordinary user: it can write its own cache of compiled kernels, and nothing else
RUN useradd --create-home --uid 10001 se-gnn
USER se-gnn
ENV PATH=/opt/se-gnn/bin:$PATH NUMBA_CACHE_DIR=/home/se-gnn/.cache/numba
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["se-gnn", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--token-file", "/run/secrets/token"]
