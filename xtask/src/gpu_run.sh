#!/bin/sh
# Measures topicbook on this machine's GPU within eight minutes, and tinytopics and PyTorch too if Python has PyTorch.
#
#   ./run.sh [--small] [PART ...]     all rows, or those with a PART in their name
#
# `--small` runs everything at tiny sizes, without a GPU if there is none. The variable PYTHON names another Python than
# python3, and OUT another folder than this one for gpu.json and gpu.md, which are written after each row.
out=$(realpath -m "${OUT:-$(dirname "$0")}")
cd "$(dirname "$0")" || exit 1
python=${PYTHON:-python3}

# NVIDIA's run-time compiler and the headers of CUDA, from a toolkit or from the Python packages that PyTorch installs.
if [ -z "${CUDA_PATH:-}" ]; then
    nvcc=$(command -v nvcc) && CUDA_PATH=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
fi
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia
for folder in "${CUDA_PATH:-}" "$packages"/cu[0-9]* "$packages/cuda_runtime"; do
    if [ -f "$folder/include/cuda_runtime.h" ]; then
        export CUDA_PATH="$folder"
        break
    fi
done
for folder in "${CUDA_PATH:-}/lib64" "${CUDA_PATH:-}/lib" "$packages"/cu[0-9]*/lib "$packages/cuda_nvrtc/lib"; do
    for library in "$folder"/libnvrtc.so*; do
        if [ -f "$library" ]; then
            export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
            break 2
        fi
    done
done

# Python imports a wheel without installing it.
for wheel in tinytopics-*.whl; do
    export PYTHONPATH="$PWD/$wheel${PYTHONPATH:+:$PYTHONPATH}"
done
exec ./gpu gpu record "$out" data "$python" gpu_peers.py "$@"
