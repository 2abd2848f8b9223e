import type { Alarms } from '#bundles/schemas/types/hub-decisions';

type Subject = Alarms['alarms'][number]['subject'];

/** Address of the most detailed view of what an alarm is about; undefined if no view shows it. */
export const alarmAddress = (
  kind: string,
  { environment, agent, site, assignment, workload }: Subject,
): string | undefined => {
  const of = encodeURIComponent;
  if (kind === 'GATE_WAITS') return '/pipeline';
  const [place = site, machine] = (agent ?? '').split('/').filter((part) => part !== '');
  if (place !== undefined && kind === 'MEDIUM_OVERDUE') return `/media?site=${of(place)}`;
  if (place !== undefined && machine !== undefined && assignment !== undefined)
    return `/sites/${of(place)}/${of(machine)}/${of(assignment)}`;
  if (place !== undefined) return `/sites/${of(place)}`;
  if (workload !== undefined) return `/workloads/${of(workload)}`;
  return environment === undefined ? undefined : `/workloads?environment=${of(environment)}`;
};
