/**
 * The stdout callback of ansible-core that reports a run as one JSON object a line, into the file that FLEET_FERRY_REPORT
 * names. It writes neither diffs nor arguments of a module, and says of a task with no_log only that it ran. With
 * FLEET_FERRY_VAULT the messages of failed tasks are left out too, because they may quote secrets of the vault, and names of tasks are
 * written as they stand in the playbook. Written for 2.14, where core has no callback for JSON.
 */
export const CALLBACK_PLUGIN = String.raw`
from __future__ import annotations
import json, os
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = '''
    name: fleet_ferry
    type: stdout
    short_description: one JSON object a line
    description: one JSON object a line
'''


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'stdout'
    CALLBACK_NAME = 'fleet_ferry'

    def __init__(self):
        super().__init__()
        self.report = open(os.environ['FLEET_FERRY_REPORT'], 'a', encoding='utf-8')
        self.vault = bool(os.environ.get('FLEET_FERRY_VAULT'))

    def _write(self, **line):
        self.report.write(json.dumps(line, default=str) + '\n')
        self.report.flush()

    def _name(self, task):
        # Ansible fills in the variables of a name before the task starts, secret ones too.
        if not (self.vault or task.no_log):
            return task.get_name()
        written = task._ds.get('name') if isinstance(task._ds, dict) else None
        return str(written or task.action)

    def _place(self, task):
        path, _, line = (task.get_path() or '').rpartition(':')
        return {'task': self._name(task), 'file': path, 'line': int(line) if line.isdigit() else 0}

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._write(type='task', **self._place(task))

    v2_playbook_on_handler_task_start = v2_playbook_on_cleanup_task_start = (
        lambda self, task: self.v2_playbook_on_task_start(task, False)
    )

    def v2_runner_on_ok(self, result):
        if result._result.get('changed', False):
            self._write(type='changed', host=result._host.get_name(), **self._place(result._task))

    def _failed(self, result, kind, ignored=False):
        res = result._result
        hidden = bool(result._task.no_log or res.get('_ansible_no_log') or 'censored' in res)
        message = ''
        if not hidden and not self.vault:
            items = [r for r in res.get('results') or [] if isinstance(r, dict) and r.get('failed')]
            first = items[0] if items else res
            hidden = bool(first.get('_ansible_no_log') or 'censored' in first)
            said = first.get('stderr') or first.get('module_stderr') or ''
            message = '' if hidden else '\n'.join(str(x) for x in (first.get('msg') or '', said) if x)
        self._write(type=kind, host=result._host.get_name(), message=message, hidden=hidden or self.vault,
                    ignored=ignored, **self._place(result._task))

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._failed(result, 'failed', ignore_errors)

    def v2_runner_on_unreachable(self, result):
        self._failed(result, 'failed')

    def v2_playbook_on_stats(self, stats):
        total = {'ok': 0, 'changed': 0, 'failures': 0, 'unreachable': 0, 'skipped': 0, 'rescued': 0, 'ignored': 0}
        for host in stats.processed:
            for key, value in stats.summarize(host).items():
                total[key] = total.get(key, 0) + value
        self._write(type='stats', **total)
`;
