/** A task of a playbook, with the file and line below the playbook's folder. */
type TaskPlace = { readonly task: string; readonly file: string; readonly line: number };

/** How a run of ansible-playbook went, from the lines of callback-plugin.ts. */
export type PlaybookReport = {
  /** Tasks that changed something, or would in check mode. */
  readonly changed: readonly (TaskPlace & { readonly host: string })[];
  /** The task that ended the run. */
  readonly failed?: TaskPlace & { readonly host: string; readonly message: string; readonly hidden: boolean };
  /** The last task that began: where a playbook hangs. */
  readonly last?: TaskPlace;
  /** True if the run came to its end, with or without a failure. */
  readonly ended: boolean;
};

type Line =
  | ({ readonly type: 'task' } & TaskPlace)
  | ({ readonly type: 'changed'; readonly host: string } & TaskPlace)
  | ({
      readonly type: 'failed';
      readonly host: string;
      readonly message: string;
      readonly hidden: boolean;
      readonly ignored: boolean;
    } & TaskPlace)
  | { readonly type: 'stats'; readonly failures: number; readonly unreachable: number };

/** Upper bound on changed tasks in a report. */
const MAX_CHANGED = 1_000;

/**
 * Reads the lines of a run that ended or was killed; a last line that is cut short is left out.
 * @param folder of the playbook while it ran; places are relative to it
 */
export const readPlaybookReport = (text: string, folder: string): PlaybookReport => {
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
  const failed = lines.findLast((line) => line.type === 'failed' && !line.ignored);
  const last = lines.findLast((line) => line.type === 'task');
  // A failure that the playbook rescues does not fail the run.
  const isFailed = !stats || stats.failures + stats.unreachable > 0;
  return {
    changed: lines
      .flatMap((line) => (line.type === 'changed' ? [{ ...below(line), host: line.host }] : []))
      .slice(0, MAX_CHANGED),
    ...(isFailed &&
      failed?.type === 'failed' && {
        failed: { ...below(failed), host: failed.host, message: failed.message, hidden: failed.hidden },
      }),
    ...(last?.type === 'task' && { last: below(last) }),
    ended: stats !== undefined,
  };
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
  const error = stderr.split('\n').find((line) => line.startsWith('ERROR!')) ?? stderr.trim().split('\n')[0];
  const where = last ? `after ${describeTask(last)}` : 'before its first task';
  return `ansible-playbook ended ${where}${error === undefined || error === '' ? '' : `: ${error}`}`;
};
