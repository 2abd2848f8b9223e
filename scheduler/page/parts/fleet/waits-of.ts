import type { Overview } from '#bundles/schemas/types/hub-decisions';

type Wait = { readonly what: string; readonly to: string; readonly details?: readonly string[] };

const counted = (count: number | null, one: string, many: string): string | undefined =>
  count === null || count === 0 ? undefined : `${count} ${count === 1 ? one : many}`;

/** All that a person has to do, each with the view where it is done. */
export const waitsOf = ({ links, waits }: Pick<Overview, 'links' | 'waits'>): readonly Wait[] => {
  const some = (what: string | undefined, to: string): readonly Wait[] =>
    what === undefined ? [] : [{ what, to }];
  return [
    ...links.flatMap(({ from, to, mode, state, unmet }): readonly Wait[] => {
      if (unmet.includes('approvals')) {
        const others = unmet.filter((name) => name !== 'approvals');
        const details = others.length === 0 ? [] : [`Not met yet, too: ${others.join(', ')}`];
        return [{ what: `${from} to ${to}: an approval`, to: '/pipeline', details }];
      }
      const isReady = state === 'ready' && mode === 'manual';
      if (isReady) return [{ what: `${from} to ${to}: ready to be promoted`, to: '/pipeline' }];
      return state === 'paused' ? [{ what: `${from} to ${to} is paused`, to: '/pipeline' }] : [];
    }),
    ...waits.releases.map(({ channel, reasons }) => ({
      what: `${channel}: a release is held back, because it would remove packages`,
      to: `/workloads?environment=${encodeURIComponent(channel.split('/')[0] ?? '')}`,
      details: reasons,
    })),
    ...some(counted(waits.values, 'change of values to review', 'changes of values to review'), '/values'),
    ...some(
      counted(waits.enrolments, 'enrolment that nobody did yet', 'enrolments that nobody did yet'),
      '/audit',
    ),
    ...some(
      counted(waits.overdue, 'agent whose medium is overdue', 'agents whose media are overdue'),
      '/media',
    ),
    ...some(
      counted(waits.held, 'agent that its operator holds', 'agents that their operators hold'),
      '/sites?verdict=held',
    ),
  ];
};
