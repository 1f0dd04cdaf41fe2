# SPDX-License-Identifier: Apache-2.0

"""``python -m sandbox_cloud``: what tools/sandbox runs."""

import sys

from sandbox_cloud import cli

if __name__ == '__main__':
    sys.exit(cli.main())
