/**
 * The stdout callback of ansible-core that reports a run as one JSON object a line, into the file that FLEET_FERRY_REPORT
 * names. It writes neither diffs nor arguments of a module, and says of a task with no_log only that it ran. With
 * FLEET_FERRY_VAULT the messages of failed tasks are left out too, because they may quote secrets of the vault, and names of tasks are
 * written as they stand in the playbook. FLEET_FERRY_PROGRESS names a file for what a later run must know if this one does not
 * end well (progress.ts), FLEET_FERRY_UNFINISHED one with what the former run left: the handlers that it had notified run
 * in this one. Written for 2.14, where core has no callback for JSON; runs on 2.21.
 */
export const CALLBACK_PLUGIN = String.raw`
from __future__ import annotations
import json, os, re
from ansible.playbook.handler import Handler
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = '''
    name: fleet_ferry
    type: stdout
    short_description: one JSON object a line
    description: one JSON object a line
'''


def texts(value):
    return [str(one) for one in (value if isinstance(value, (list, tuple)) else [value] if value else [])]


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'stdout'
    CALLBACK_NAME = 'fleet_ferry'

    def __init__(self):
        super().__init__()
        self.report = open(os.environ['FLEET_FERRY_REPORT'], 'a', encoding='utf-8')
        self.vault = bool(os.environ.get('FLEET_FERRY_VAULT'))
        progress = os.environ.get('FLEET_FERRY_PROGRESS')
        self.progress = open(progress, 'a', encoding='utf-8') if progress else None
        unfinished = os.environ.get('FLEET_FERRY_UNFINISHED')
        self.unfinished = json.load(open(unfinished, encoding='utf-8')) if unfinished else {}
        self.topics = list(self.unfinished.get('notified') or [])
        self.play = None
        self.items = {}

    def _write(self, **line):
        self.report.write(json.dumps(line, default=str) + '\n')
        self.report.flush()

    def _remember(self, durable=False, **line):
        if self.progress:
            self.progress.write(json.dumps(line, default=str) + '\n')
            self.progress.flush()
            if durable:
                os.fsync(self.progress.fileno())

    def _written(self, task):
        written = task._ds.get('name') if isinstance(task._ds, dict) else None
        return str(written or task.action)

    def _name(self, task):
        # Ansible fills in the variables of a name before the task starts, secret ones too. Of a loop's, those of its items are
        # not there yet: from 2.19 on the name has the text of that error.
        written = self._written(task)
        if self.vault or task.no_log or ('{{' in written and (task.loop or getattr(task, 'loop_with', None))):
            return written
        name = task.get_name()
        return written if '<< error' in name else name

    def _place(self, task, written=False):
        path, _, line = (task.get_path() or '').rpartition(':')
        name = self._written(task) if written else self._name(task)
        return {'task': name, 'file': path, 'line': int(line) if line.isdigit() else 0}

    def v2_playbook_on_play_start(self, play):
        self.play = play

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._write(type='task', **self._place(task))
        notify = texts(task.notify)
        self._remember(durable=bool(notify), type='task', notify=notify, **self._place(task, True))
        # Not earlier: handlers run before the first task, too.
        if not isinstance(task, Handler):
            self._notify_again()

    v2_playbook_on_handler_task_start = v2_playbook_on_cleanup_task_start = (
        lambda self, task: self.v2_playbook_on_task_start(task, False)
    )

    def _filled(self, text):
        names = {text}
        if '{{' in text:
            try:
                from ansible.template import Templar
                variables = self.play.get_variable_manager().get_vars(play=self.play)
                names.add(str(Templar(loader=self.play._loader, variables=variables).template(text)))
            except Exception:
                pass
        return names

    def _handler_names(self, handler):
        names = self._filled(handler.name or '')
        if handler._role:
            names |= {'%s : %s' % (role, name) for name in names for role in (handler._role.get_name(), handler._role.get_name(include_role_fqcn=False))}
        for topic in texts(handler.listen):
            names |= self._filled(topic)
        return names

    def _notify_again(self):
        if not (self.topics and self.play):
            return
        inventory = self.play.get_variable_manager()._inventory
        handlers = [(one, self._handler_names(one)) for block in self.play.handlers for one in block.block if isinstance(one, Handler)]
        left = []
        for entry in self.topics:
            names = self._filled(entry['topic'])
            found = [handler for handler, own in handlers if own & names]
            hosts = [host for host in inventory.get_hosts() if host.get_name() == entry['host']]
            if not found or not hosts:
                left.append(entry)
                continue
            for handler in found:
                if self._written(handler) not in entry['done']:
                    handler.notify_host(hosts[0])
                    self._write(type='again', **self._place(handler))
        self.topics = left

    def v2_runner_on_ok(self, result):
        task, host, changed = result._task, result._host.get_name(), result._result.get('changed', False)
        if changed:
            self._write(type='changed', host=host, **self._place(task))
            for topic in texts(task.notify):
                self._remember(durable=True, type='notified', host=host, topic=topic)
            # From 2.21 on a register may have several names.
            for name in list(task.register) if isinstance(task.register, dict) else texts(task.register):
                self._remember(type='registered', name=str(name))
        self._done(task, host, ran=True)

    def _done(self, task, host, ran=False):
        self._remember(durable=isinstance(task, Handler), type='done', handler=isinstance(task, Handler), host=host,
                       ran=ran and bool(task.when), **self._place(task, True))

    def v2_runner_on_skipped(self, result):
        task = result._task
        asked = ' '.join(texts(task.when))
        did = self._written(task) in (self.unfinished.get('ran') or [])
        if not did and any(re.search(r'\b%s\b' % re.escape(name), asked) for name in self.unfinished.get('registers') or []):
            self._write(type='unrepeated', **self._place(task))
        self._done(task, result._host.get_name())

    # From 2.21 on the result of a loop says neither which item failed nor why.
    def v2_runner_item_on_failed(self, result):
        self.items.setdefault((result._host.get_name(), result._task._uuid), result._result)

    def _failed(self, result, kind, ignored=False):
        res, task = result._result, result._task
        item = self.items.pop((result._host.get_name(), task._uuid), res)
        hidden = any(task.no_log or one.get('_ansible_no_log') or 'censored' in one for one in (res, item))
        message = ''
        if not hidden and not self.vault:
            said = item.get('stderr') or item.get('module_stderr') or ''
            message = '\n'.join(str(x) for x in (item.get('msg') or '', said) if x)
        self._write(type=kind, host=result._host.get_name(), message=message, hidden=hidden or self.vault,
                    ignored=bool(ignored), handler=isinstance(task, Handler), **self._place(task))
        if not isinstance(task, Handler):
            self._done(task, result._host.get_name())

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._failed(result, 'failed', ignore_errors)

    def v2_runner_on_unreachable(self, result):
        self._failed(result, 'failed')

    def v2_playbook_on_stats(self, stats):
        for entry in self.topics:
            self._write(type='lost', topic=entry['topic'])
        total = {'ok': 0, 'changed': 0, 'failures': 0, 'unreachable': 0, 'skipped': 0, 'rescued': 0, 'ignored': 0}
        for host in stats.processed:
            for key, value in stats.summarize(host).items():
                total[key] = total.get(key, 0) + value
        self._write(type='stats', **total)
        self._remember(durable=True, type='stats')
`;
