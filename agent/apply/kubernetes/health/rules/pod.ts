import { formatCount } from '#bundles/format-count';
import { conditionOf, oneLine, formatCause } from '../condition.ts';
import { fieldOf, listOf, numberOf, textOf, timeOf } from '../live-field.ts';
import { current, failed, type HealthContext, inProgress, type Verdict } from '../verdict.ts';

/** How long a pod may wait for a node or a registry before it counts as failed. */
const GRACE_MS = 15_000;

const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'RegistryUnavailable',
  'ImageInspectError',
]);

/** Unlike in kstatus, a pod in phase Failed is not Current. */
export const judgePod = (object: unknown, { now }: Pick<HealthContext, 'now'>): Verdict => {
  const phase = textOf(object, 'status', 'phase');
  if (phase === 'Succeeded') return current('it ran to its end');
  if (phase === 'Failed') return failed(oneLine(`it failed${whyFailed(object)}`));
  const waiting = containersOf(object).find((one) => blocks(one));
  const scheduled = conditionOf(object, 'PodScheduled');
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable') {
    const said = formatCause(scheduled, 'no node takes it');
    const since =
      timeOf(scheduled.raw, 'lastTransitionTime') ?? timeOf(object, 'metadata', 'creationTimestamp');
    return isOver(since, now) ? failed(said) : inProgress(said);
  }
  if (waiting) return judgeWaiting(object, waiting, now);
  const ready = conditionOf(object, 'Ready');
  if (phase === 'Running' && ready?.status === 'True') return current('it is ready');
  if (phase === 'Running')
    return inProgress(formatCause(ready ?? { reason: '', message: '' }, 'it is not ready yet'));
  return inProgress(phase === 'Pending' ? 'it is starting' : 'its phase is not known yet');
};

const containersOf = (object: unknown): readonly unknown[] => [
  ...listOf(object, 'status', 'initContainerStatuses'),
  ...listOf(object, 'status', 'containerStatuses'),
];

const waitingReason = (container: unknown): string => textOf(container, 'state', 'waiting', 'reason') ?? '';

/** Waiting reasons that need help. 'PodInitializing' and 'ContainerCreating' are normal steps. */
const blocks = (container: unknown): boolean =>
  /^(?:CrashLoopBackOff|InvalidImageName|Create.*Error|RunContainerError)$/.test(waitingReason(container)) ||
  IMAGE_REASONS.has(waitingReason(container));

const judgeWaiting = (object: unknown, container: unknown, now: Date): Verdict => {
  const reason = waitingReason(container);
  const name = textOf(container, 'name') ?? 'a container';
  const message = textOf(container, 'state', 'waiting', 'message') ?? '';
  const said = `container ${name}: ${formatCause({ reason, message }, reason)}`;
  if (reason === 'CrashLoopBackOff') return failed(`container ${name}: ${reason}${lastEnd(container)}`);
  if (reason === 'InvalidImageName') return failed(said, 0);
  if (!IMAGE_REASONS.has(reason)) return inProgress(said);
  const since = timeOf(object, 'status', 'startTime') ?? timeOf(object, 'metadata', 'creationTimestamp');
  return isOver(since, now) ? failed(said) : inProgress(said);
};

/** The exit of the last run, which is more useful than the wait for the next. */
const lastEnd = (container: unknown): string => {
  const end = fieldOf(container, 'lastState', 'terminated');
  const code = numberOf(end, 'exitCode');
  const why = textOf(end, 'reason');
  const restarts = numberOf(container, 'restartCount');
  const parts = [
    code !== undefined && `exit code ${code}${why && why !== 'Error' ? ` (${why})` : ''}`,
    restarts !== undefined && formatCount(restarts, 'restart'),
  ].filter(Boolean);
  return parts.length > 0 ? `, ${parts.join(', ')}` : '';
};

const whyFailed = (object: unknown): string => {
  const reason = textOf(object, 'status', 'reason') ?? '';
  const message = textOf(object, 'status', 'message') ?? '';
  if (reason || message) return `: ${formatCause({ reason, message }, '')}`;
  const ended = containersOf(object).find(
    (one) => (numberOf(one, 'state', 'terminated', 'exitCode') ?? 0) !== 0,
  );
  if (ended === undefined) return '';
  const { name, code } = {
    name: textOf(ended, 'name') ?? '',
    code: numberOf(ended, 'state', 'terminated', 'exitCode'),
  };
  return `: container ${name} ended with exit code ${code}`;
};

const isOver = (since: number | undefined, now: Date): boolean =>
  since !== undefined && now.getTime() - since > GRACE_MS;
