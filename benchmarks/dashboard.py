# SPDX-License-Identifier: Apache-2.0

"""Measures pages of a dashboard: time, bytes, links, and requests to services.

Usage::

    python3 benchmarks/dashboard.py --url http://127.0.0.1 --user demo \
        --logs /var/log/cinder/access.log /var/log/keystone/access.log

The password is read from the environment variable ``OS_PASSWORD``. The logs
are access logs of the services: each line with a quoted request counts. Run
the command on a cloud that nobody else uses, once with the plug-in and once
without it: remove the ``enabled`` file, compress the static files again and
restart the web server.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import time

import requests

#: The pages, by what they show.
PAGES = {
    'Create Volume': '/project/volumes/create/',
    'Volumes': '/project/volumes/',
    'Volumes, administrator': '/admin/volumes/',
    'RBD Images': '/admin/rbd_images/',
}
_REQUEST = re.compile(r'^[^"]*"[A-Z]+ (\S+) HTTP/[^"]*"', re.MULTILINE)
_LINK = re.compile(r'<(?:script|link)[^>]+(?:src|href)="(/[^"]+)"')
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Logs:
    """The access logs of the services."""

    def __init__(self, paths: list[pathlib.Path]) -> None:
        self._ends = {path: path.stat().st_size for path in paths}

    def new_requests(self) -> dict[str, int]:
        """Return the number of requests since the last call, by log."""
        counted = {}
        for path, end in self._ends.items():
            with path.open('rb') as log:
                log.seek(end)
                text = log.read()
            self._ends[path] = end + len(text)
            counted[path.stem] = len(
                _REQUEST.findall(text.decode(errors='replace'))
            )
        return counted


def logged_in(url: str, user: str, domain: str) -> requests.Session:
    """Return a session of a user.

    :raises RuntimeError: if the dashboard refuses the login
    """
    session = requests.Session()
    page = session.get(f'{url}/auth/login/')
    (token, *_more) = _TOKEN.findall(page.text)
    answer = session.post(
        f'{url}/auth/login/',
        {
            'csrfmiddlewaretoken': token,
            'username': user,
            'password': os.environ['OS_PASSWORD'],
            'domain': domain,
            'region': 'default',
            'auth_type': 'credentials',
        },
        headers={'Referer': f'{url}/auth/login/'},
    )
    if 'id_username' in answer.text:
        raise RuntimeError(f'{url} refused the login of {user}')
    return session


def measured(
    session: requests.Session, address: str, logs: Logs, runs: int
) -> dict[str, object] | None:
    """Return the figures of a page; None if the user has no such page."""
    seconds, calls, size, links = [], [], 0, set[str]()
    for run in range(runs + 1):
        logs.new_requests()
        began = time.monotonic()
        page = session.get(address)
        took = time.monotonic() - began
        if page.status_code != requests.codes.ok or page.history:
            return None
        # The services write their logs after their answers.
        time.sleep(0.5)
        counted = logs.new_requests()
        if run:
            # The first run fills caches.
            seconds.append(took)
            calls.append(counted)
        size, links = len(page.content), set(_LINK.findall(page.text))
    return {
        'seconds': round(statistics.median(seconds), 2),
        'slowest': round(max(seconds), 2),
        'bytes': size,
        'links': len(links),
        'calls': statistics.median(sum(each.values()) for each in calls),
        'by log': {
            name: statistics.median(each[name] for each in calls)
            for name in calls[0]
        },
    }


def main() -> None:
    """Measure all pages; print one JSON object for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--url', required=True)
    parser.add_argument('--user', required=True)
    parser.add_argument('--domain', default='Default')
    parser.add_argument('--runs', type=int, default=10)
    parser.add_argument('--logs', nargs='*', type=pathlib.Path, default=[])
    args = parser.parse_args()
    session = logged_in(args.url, args.user, args.domain)
    logs = Logs(args.logs)
    for name, path in PAGES.items():
        figures = measured(session, f'{args.url}{path}', logs, args.runs)
        print(json.dumps({'page': name, **(figures or {'missing': True})}))


if __name__ == '__main__':
    main()
