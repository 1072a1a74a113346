# JupyterLab with the labs, for Docker, JupyterHub and Binder: in the repository with everything, in the
# students' zip without solutions. docs/homes.md says more.
FROM python:3.13-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap make \
 && rm -rf /var/lib/apt/lists/*

ARG NB_USER=jovyan
ARG NB_UID=1000
ENV USER=${NB_USER} HOME=/home/${NB_USER}
RUN useradd --create-home --uid ${NB_UID} ${NB_USER} \
 && install -d -o ${NB_UID} ${HOME}/attention-labs
COPY --chown=${NB_UID} . ${HOME}/attention-labs
WORKDIR ${HOME}/attention-labs
USER ${NB_USER}

RUN make setup && .venv/bin/autograder start work
# For a JupyterHub: docker build --build-arg JUPYTERHUB=<the hub's version>
ARG JUPYTERHUB=
RUN test -z "${JUPYTERHUB}" || .venv/bin/pip install -q -c constraints.txt "jupyterhub==${JUPYTERHUB}"

ENV PATH=${HOME}/attention-labs/.venv/bin:${PATH}
# One BLAS thread a kernel, as in marking: with more, kernels that share a machine slow each other down.
ENV OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
EXPOSE 8888
CMD ["make", "lab", "JUPYTER_OPTIONS=--ip=0.0.0.0 --no-browser"]
