# SPDX-License-Identifier: Apache-2.0

"""Tables of modules, methods, metrics and leftovers, from the code."""

import ast
import pathlib
import sys

from sphinx.util import docutils

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _summary(node):
    return (ast.get_docstring(node) or '').split('\n\n')[0].replace('\n', ' ')


def modules(package):
    """Return the summaries of a package's sub-packages and modules."""
    paths = [
        *(ROOT / package).glob('*/__init__.py'),
        *(ROOT / package).glob('[a-z]*.py'),
    ]
    summaries = {}
    for path in paths:
        name = path.parent.name if path.stem == '__init__' else path.stem
        summaries[name] = _summary(ast.parse(path.read_text()))
    return {name: text for name, text in sorted(summaries.items()) if text}


def methods(module, name):
    """Return the summaries of the methods of a class."""
    tree = ast.parse((ROOT / module).read_text())
    (cls,) = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    return {
        node.name: _summary(node)
        for node in cls.body
        if isinstance(node, ast.FunctionDef) and _summary(node)
    }


class Modules(docutils.SphinxDirective):
    """A row for each module of the package that it names."""

    required_arguments = 1
    make = staticmethod(modules)
    title, text = 'Module', 'Subject'

    def run(self):
        """Return the table."""
        lines = ['.. list-table::', '   :header-rows: 1', '   :widths: 30 70']
        rows = {self.title: self.text, **self.make(*self.arguments)}
        lines.append('')
        for name, text in rows.items():
            shown = name if name == self.title else f'``{name}``'
            lines += [f'   * - {shown}', f'     - {text}']
        return self.parse_text_to_nodes('\n'.join(lines))


class Methods(Modules):
    """A row for each method of the class that it names, with its file."""

    required_arguments = 2
    make = staticmethod(methods)
    title, text = 'Method', 'What it does'


def metrics():
    """Return the labels and the meaning of the exporter's metrics."""
    sys.path.insert(0, str(ROOT))
    from rbd_volume_tools.exporter import metrics as exported

    return {
        metric.name: f'{metric.text} [{", ".join(metric.labels)}]'
        if metric.labels
        else metric.text
        for metric in exported.METRICS
    }


class Metrics(Modules):
    """A row for each metric of ``cinder-rbd-ext exporter``."""

    required_arguments = 0
    make = staticmethod(metrics)
    title, text = 'Metric', 'Meaning [labels]'


class Leftovers(docutils.SphinxDirective):
    """A row for each kind of leftover that ``cinder-rbd-ext clean`` knows."""

    def run(self):
        """Return the table."""
        sys.path.insert(0, str(ROOT))
        from rbd_volume_tools.clean import leftovers

        heads = ('Kind', 'What proves it', 'What must not be', 'Way; a kill')
        rows = [
            (
                f'``{each.kind.code}``: {each.looks}',
                '; or '.join(proof.meaning for proof in each.proofs),
                ', '.join(
                    dict.fromkeys(f'*{must.code}*' for must in each.never)
                ),
                f'{each.way.value.capitalize()}. {each.kill}',
            )
            for each in leftovers.TABLE.values()
        ]
        lines = ['.. list-table::', '   :header-rows: 1', '']
        for first, *others in [heads, *rows]:
            lines.append(f'   * - {first}')
            lines += [f'     - {other}' for other in others]
        return self.parse_text_to_nodes('\n'.join(lines))


def setup(app):
    """Add the directives."""
    app.add_directive('modules', Modules)
    app.add_directive('methods', Methods)
    app.add_directive('metrics', Metrics)
    app.add_directive('leftovers', Leftovers)
    return {'parallel_read_safe': True}
