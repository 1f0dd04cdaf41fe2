# SPDX-License-Identifier: Apache-2.0

"""RabbitMQ: the message broker of the services."""

from __future__ import annotations

from typing import ClassVar

from sandbox_cloud.contract import Service
from sandbox_cloud.program import Program

# By default Erlang's schedulers spin when idle; the machine has few cores.
_ERLANG = (
    '-kernel inet_dist_use_interface {127,0,0,1} '
    '+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none'
)


class RabbitMQ(Service):
    """The broker and its port mapper, both private."""

    name: ClassVar[str] = 'rabbitmq'
    # AMQP, the distribution port, and the port mapper. The port mapper does
    # not use its default port 4369, where another one may listen.
    ports: ClassVar[tuple[int, ...]] = (5672, 25672, 14369)

    def render(self) -> None:
        """Write its configuration."""
        self.runtime.render('rabbitmq.conf', self.etc / 'rabbitmq.conf')
        (self.etc / 'plugins').write_text('[].\n')
        self.data.mkdir(exist_ok=True)

    def programs(self) -> tuple[Program, ...]:
        """Return the port mapper and the broker."""
        mapper = {
            'ERL_EPMD_ADDRESS': '127.0.0.1',
            'ERL_EPMD_PORT': str(self.ports[2]),
        }
        environ = {
            **mapper,
            'HOME': str(self.data),
            'RABBITMQ_NODENAME': 'rabbit@localhost',
            'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
            'RABBITMQ_DIST_PORT': str(self.ports[1]),
            'RABBITMQ_CONFIG_FILE': str(self.etc / 'rabbitmq.conf'),
            'RABBITMQ_MNESIA_BASE': str(self.data / 'mnesia'),
            'RABBITMQ_LOG_BASE': str(self.state.log),
            'RABBITMQ_ENABLED_PLUGINS_FILE': str(self.etc / 'plugins'),
            'RABBITMQ_CONF_ENV_FILE': '/dev/null',
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': _ERLANG,
        }
        # The broker would start a port mapper of its own, so that ours ends.
        # /usr/sbin/rabbitmq-server is not used, because it switches to another
        # user.
        server = (
            *('sh', '-c'),
            'until epmd -names > /dev/null 2>&1; do sleep 0.2; done; '
            'exec /usr/lib/rabbitmq/bin/rabbitmq-server',
        )
        return (
            Program('epmd', ('/usr/bin/epmd',), mapper),
            Program(
                'rabbitmq',
                server,
                environ,
                inputs=(self.etc / 'rabbitmq.conf',),
            ),
        )
