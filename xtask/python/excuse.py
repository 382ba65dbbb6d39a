"""A kernel that answers every cell with one message.

The launcher starts it in the place of a kernel that cannot start: of a kernel that ends at its start, Jupyter shows no more
than that it died.

usage: excuse.py MESSAGE CONNECTION_FILE
"""

import sys

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel

MESSAGE, CONNECTION_FILE = sys.argv[1:]


class Excuse(Kernel):
    implementation = "topicbook"
    implementation_version = "0"
    language_info = {"name": "rust", "mimetype": "text/rust", "file_extension": ".rs"}
    banner = MESSAGE

    def do_execute(self, code, silent, *_, **__):
        error = {"ename": "topicbook", "evalue": MESSAGE, "traceback": MESSAGE.splitlines()}
        if not silent:
            self.send_response(self.iopub_socket, "error", error)
        return {"status": "error", "execution_count": self.execution_count, **error}


IPKernelApp.launch_instance(argv=["-f", CONNECTION_FILE], kernel_class=Excuse)
