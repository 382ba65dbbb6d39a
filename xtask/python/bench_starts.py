"""Starts kernels on a busy machine while clients come and go, and counts those that never answer.

usage: bench_starts.py KERNEL EVCXR_JUPYTER RECORD [STARTS [WHOLE]]

STARTS kernels only speak Jupyter's protocol (they answer every cell with a text), so that a thousand take minutes. WHOLE
kernels start evcxr and the library, and run a cell. As many evcxr_jupyter kernels without a library do the same. Jupyter
Server asks a kernel that does not answer at once again and again, each time on new connections that it closes: so do the
clients here, several at a time. Two processes keep both cores busy. Writes the counts as JSON to RECORD.
"""

import contextlib
import json
import pathlib
import queue
import subprocess
import sys
import threading
import time

from bench_cells import bare_kernel, machine
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

SECONDS = 60
CLIENTS = 3


def nudge(connection, done):
    """Connects, asks, and leaves without waiting, until the kernel has answered somebody."""
    client = BlockingKernelClient()
    client.load_connection_info(connection)
    while not done.is_set():
        asked = [client.connect_shell(), client.connect_control()]
        channels = [*asked, client.connect_iopub()]
        for _ in range(3):
            for channel in asked:
                client.session.send(channel, "kernel_info_request")
        time.sleep(0.02)
        for channel in channels:
            channel.close(linger=0)


def answers(connection, cell):
    """Whether the kernel runs a cell within a minute."""
    client = BlockingKernelClient()
    client.load_connection_info(connection)
    client.start_channels()
    try:
        # `wait_for_ready` of this client waits until nobody else's messages arrive.
        end = time.monotonic() + SECONDS
        heard = False
        while not heard:
            client.kernel_info(reply=True, timeout=end - time.monotonic())
            # A client that has just connected may miss what is published.
            with contextlib.suppress(queue.Empty):
                heard = bool(client.get_iopub_msg(timeout=0.1))
        client.execute_interactive(cell, timeout=SECONDS, output_hook=lambda _: None)
        # Once more, when the clients that came before have gone.
        client.kernel_info(reply=True, timeout=SECONDS)
        return True
    except (queue.Empty, TimeoutError):
        return False
    finally:
        client.stop_channels()


def start(manager):
    manager.start_kernel()
    connection = manager.get_connection_info()
    done = threading.Event()
    clients = [threading.Thread(target=nudge, args=(connection, done)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    began = time.monotonic()
    answered = answers(connection, "1 + 1")
    took = time.monotonic() - began
    done.set()
    for client in clients:
        client.join()
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()
    return answered, took


def saying(kernel):
    manager = bare_kernel(kernel)
    manager._kernel_spec.argv = [kernel, "--say", "no cells", "{connection_file}"]
    return manager


def measure(name, starts, make):
    results = []
    for number in range(starts):
        results.append(start(make()))
        if number % 50 == 49:
            print(f"{name}: {number + 1} of {starts}", flush=True)
    hung = sum(not answered for answered, _ in results)
    times = sorted(took for _, took in results)
    row = {"kernel": name, "starts": starts, "never answered": hung, "median seconds": times[len(times) // 2]}
    print(row, flush=True)
    return row


def main(kernel, evcxr, record, starts="1000", whole="60"):
    about = machine()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(about["cores"])]
    try:
        rows = [
            measure("topicbook, the protocol alone", int(starts), lambda: saying(kernel)),
            measure("topicbook, whole", int(whole), lambda: KernelManager(kernel_name="topicbook")),
            measure("evcxr_jupyter 0.22.0, whole", int(whole), lambda: bare_kernel(evcxr)),
        ]
    finally:
        for process in busy:
            process.kill()
    text = json.dumps({"machine": about, "clients at a time": CLIENTS, "rows": rows}, indent=1)
    pathlib.Path(record).write_text(text + "\n")
    return 1 if any(row["never answered"] for row in rows[:2]) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
