# SPDX-License-Identifier: Apache-2.0

"""Checks the names and values of the suite's options in its files.

The packages themselves say which options they have, so that a value is parsed
as the service parses it. A package that cannot be imported here, because its
Debian package is not installed, has no options to check.
"""

from collections.abc import Collection
from collections.abc import Iterator
import difflib
import importlib

from oslo_config import cfg

from rbd_volume_tools.command_line import configuration
from rbd_volume_tools.command_line import findings
from rbd_volume_tools.doctor import cinder_parts
from rbd_volume_tools.doctor import other_parts

#: The modules that list the options. They are imported by name, because only
#: their data is needed, and only if it is there.
_CINDER = 'cinder_rbd_ext.opts'
_GLANCE = 'glance_store_objmap.opts'
_NOVA = 'nova_rbd_cache.opts'
_NOVA_SECTION = 'rbd_cache'
#: Names that other sections of Nova have too.
_COMMON = frozenset({'enabled'})
#: How similar a name must be to count as another spelling. No stock option of
#: an RBD back end or store is that similar to one of ours.
_SIMILAR = 0.8

Configuration = configuration.Configuration
Finding = findings.Finding
Options = dict[str, cfg.Opt]


def check_cinder(conf: Configuration) -> Iterator[Finding]:
    """Check the options in the configuration of Cinder."""
    ours = [
        section
        for section in conf.sections()
        if conf.get(section, 'volume_driver') == cinder_parts.OURS
    ]
    yield from _check(
        'Cinder',
        conf,
        _options(_CINDER),
        [*ours, configuration.SHARED],
        'back end',
    )


def check_glance(conf: Configuration) -> Iterator[Finding]:
    """Check the options in the configuration of Glance."""
    stores = other_parts.glance_stores(conf)
    ours = [name for name, kind in stores.items() if kind == other_parts.STORE]
    yield from _check(
        'Glance',
        conf,
        _options(_GLANCE),
        [*ours, configuration.SHARED],
        'store',
    )


def check_nova(conf: Configuration) -> Iterator[Finding]:
    """Check the options in the configuration of Nova."""
    options = _options(_NOVA)
    if not options:
        return
    for section in difflib.get_close_matches(
        _NOVA_SECTION, conf.sections(), cutoff=_SIMILAR
    ):
        if section != _NOVA_SECTION:
            yield findings.warning(
                f'Nova [{section}]',
                'unknown section',
                f'Rename it to [{_NOVA_SECTION}], or remove it.',
            )
    for section in conf.sections():
        for name in conf.names(section):
            subject = f'Nova [{section}] {name}'
            if section == _NOVA_SECTION:
                value = conf.get(section, name)
                yield from _checked(subject, name, value, options, True)
            elif name in options.keys() - _COMMON:
                yield _misplaced(subject, f'section [{_NOVA_SECTION}]')


def _check(
    service: str,
    conf: Configuration,
    options: Options,
    valid: Collection[str],
    what: str,
) -> Iterator[Finding]:
    """Check the options of back ends.

    :param valid: sections in which the options have an effect
    :param what: what such a section is for
    """
    for section in conf.sections():
        for name in conf.names(section):
            subject = f'{service} [{section}] {name}'
            if name in options and section not in valid:
                yield _misplaced(subject, f'section of a {what} of the suite')
            else:
                value = conf.get(section, name)
                yield from _checked(subject, name, value, options)


def _checked(
    subject: str,
    name: str,
    value: str,
    options: Options,
    only_ours: bool = False,
) -> Iterator[Finding]:
    """Check an option.

    :param only_ours: whether the section has no options of others
    """
    if name not in options:
        near = difflib.get_close_matches(name, options, 1, _SIMILAR)
        if near or only_ours:
            yield findings.warning(
                subject,
                'unknown option, which is ignored',
                f'Rename it to {near[0]}, or remove it.'
                if near
                else f'Remove it. Options: {", ".join(sorted(options))}.',
            )
    elif '$' not in value:
        try:
            options[name].type(value)
        except ValueError as error:
            yield findings.error(
                subject,
                str(error),
                'Correct the value. The service does not use the section '
                'with it.',
            )


def _misplaced(subject: str, where: str) -> Finding:
    return findings.warning(
        subject,
        'has no effect in this section',
        f'Move it to the {where}, or remove it.',
    )


def _options(module: str) -> Options:
    """Return the options of a package by name; none if it is missing."""
    try:
        listed = importlib.import_module(module).list_opts()
    except ImportError:
        return {}
    return {each.dest: each for _, opts in listed for each in opts}
