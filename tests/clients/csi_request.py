# SPDX-License-Identifier: Apache-2.0

"""Send a request to the controller of a CSI plug-in.

Usage: ``csi_request.py FOLDER SOCKET METHOD``, where the folder contains
csi.proto. The request and the answer are JSON on standard input and output.
"""

import sys

from google.protobuf import json_format
import grpc

_SECONDS = 120


def main(folder: str, socket: str, method: str) -> int:
    """Return 1 if the plug-in refuses the request; print the message."""
    sys.path.append(folder)
    messages, services = grpc.protos_and_services('csi.proto')
    controller = messages.DESCRIPTOR.services_by_name['Controller']
    kind = controller.methods_by_name[method].input_type.name
    request = json_format.Parse(sys.stdin.read(), getattr(messages, kind)())
    with grpc.insecure_channel(f'unix:{socket}') as channel:
        send = getattr(services.ControllerStub(channel), method)
        try:
            answer = send(request, timeout=_SECONDS, wait_for_ready=True)
        except grpc.RpcError as error:
            print(error.details())
            return 1
    print(json_format.MessageToJson(answer))
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
