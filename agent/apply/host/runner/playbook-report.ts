import { defined } from '#bundles/defined';
import { nameSome } from '#bundles/name-some';
import type { PlaybookReport, TaskPlace } from '../step-request.ts';
import type { Unfinished } from './progress.ts';

type Line =
  | ({ readonly type: 'task' } & TaskPlace)
  | ({ readonly type: 'changed'; readonly host: string } & TaskPlace)
  | ({
      readonly type: 'failed';
      readonly host: string;
      readonly message: string;
      readonly hidden: boolean;
      readonly ignored: boolean;
      readonly handler: boolean;
    } & TaskPlace)
  | ({ readonly type: 'again' | 'unrepeated' } & TaskPlace)
  | { readonly type: 'lost'; readonly topic: string }
  | {
      readonly type: 'stats';
      readonly failures: number;
      readonly unreachable: number;
      readonly rescued: number;
    };

/** Upper bound on changed tasks in a report. */
const MAX_CHANGED = 1_000;

/**
 * Reads the lines of a run that ended or was killed; a last line that is cut short is left out.
 * @param folder of the playbook while it ran; places are relative to it
 * @param before what the former run left
 */
export const readPlaybookReport = (text: string, folder: string, before?: Unfinished): PlaybookReport => {
  const lines = text.split('\n').flatMap((line): readonly Line[] => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Line];
    } catch {
      return [];
    }
  });
  const below = ({ task, file, line }: TaskPlace): TaskPlace => ({
    task,
    file: file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : file,
    line,
  });
  const stats = lines.find((line) => line.type === 'stats');
  const failures = lines.flatMap((line) => (line.type === 'failed' && !line.ignored ? [line] : []));
  const ofTasks = failures.filter(({ handler }) => !handler);
  // Handlers run after the failure of a task; those that a rescue has dealt with are no reason.
  const failed = ofTasks.length > (stats?.rescued ?? 0) ? ofTasks.at(-1) : failures.at(-1);
  const last = lines.findLast((line) => line.type === 'task');
  // A failure that the playbook rescues does not fail the run.
  const isFailed = !stats || stats.failures + stats.unreachable > 0;
  return defined({
    changed: lines
      .flatMap((line) => (line.type === 'changed' ? [{ ...below(line), host: line.host }] : []))
      .slice(0, MAX_CHANGED),
    failed:
      isFailed && failed
        ? { ...below(failed), host: failed.host, message: failed.message, hidden: failed.hidden }
        : undefined,
    last: last?.type === 'task' ? below(last) : undefined,
    ended: stats !== undefined,
    resumed: before
      ? defined({
          cutOff: before.cutOff,
          handlers: lines.flatMap((line) => (line.type === 'again' ? [below(line)] : [])),
          lost: lines.flatMap((line) => (line.type === 'lost' ? [line.topic] : [])),
          unrepeated: lines.flatMap((line) => (line.type === 'unrepeated' ? [below(line)] : [])),
        })
      : undefined,
  });
};

/** 'task "copy" (site.yml:7)'. */
export const describeTask = ({ task, file, line }: TaskPlace): string =>
  `task ${JSON.stringify(task)} (${file}:${line})`;

const MAX_NAMED = 3;

/** 'task "copy" (site.yml:7) and 2 more'. */
export const describeTasks = (tasks: readonly TaskPlace[]): string => {
  const named = tasks.slice(0, MAX_NAMED).map(describeTask).join(', ');
  return tasks.length > MAX_NAMED ? `${named} and ${tasks.length - MAX_NAMED} more` : named;
};

/** '; handlers of the run before, which was cut off in task "copy", ran now: ...'; '' if nothing of a former run is worth a word. */
export const describeResumed = ({ resumed }: PlaybookReport): string => {
  if (!resumed) return '';
  const { cutOff, handlers, lost, unrepeated } = resumed;
  const former =
    cutOff === undefined
      ? 'the run before, which failed,'
      : `the run before, cut off in task ${JSON.stringify(cutOff)},`;
  return [
    ...(handlers.length > 0
      ? [`; handlers that ${former} had notified ran now: ${describeTasks(handlers)}`]
      : []),
    ...(lost.length > 0
      ? [`; ${former} had notified ${nameSome(lost)}, for which this playbook has no handler`]
      : []),
    ...(unrepeated.length > 0
      ? [`; not repeated: ${describeTasks(unrepeated)}, whose condition asks what ${former} changed`]
      : []),
  ].join('');
};

/** The name by which a task is the same in two runs. */
export const taskKey = ({ task, file, line }: TaskPlace): string => `${file}:${line} ${task}`;

/**
 * The tasks that say that the host differs from the playbook. Those that report a change on every run say nothing.
 * @param unstable tasks that would have changed something right after the playbook ran
 */
export const driftedTasks = (
  { changed }: PlaybookReport,
  unstable: readonly string[],
): PlaybookReport['changed'] => changed.filter((task) => !unstable.includes(taskKey(task)));

/** Why a run failed, in one sentence without its full stop. */
export const whyPlaybookFailed = ({ failed, last }: PlaybookReport, stderr: string): string => {
  if (failed) {
    const said = failed.hidden
      ? 'its message is withheld because of no_log or a vault'
      : (failed.message.trim().split('\n')[0] ?? '');
    return `${describeTask(failed)} failed on ${failed.host}${said === '' ? '' : `: ${said}`}`;
  }
  // 'ERROR! ...' up to 2.18, '[ERROR]: ...' from 2.19 on; warnings may stand before.
  const error =
    stderr.split('\n').find((line) => /^(?:ERROR!|\[ERROR\]:)/.test(line)) ?? stderr.trim().split('\n')[0];
  const where = last ? `after ${describeTask(last)}` : 'before its first task';
  return `ansible-playbook ended ${where}${error === undefined || error === '' ? '' : `: ${error}`}`;
};
