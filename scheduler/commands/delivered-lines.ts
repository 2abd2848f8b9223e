import { formatError, formatSentences } from '#bundles/errors';
import { paragraph, type Printed } from '#cli/format-table';
import type { Delivered } from '../deliver/tree/tree-delivery.ts';
import { heldLines, summariseHeld } from './held-lines.ts';

/** Result of delivering one environment's tree. */
export const deliveredLines = (delivered: Delivered): readonly Printed[] => {
  const { environment, held, heldWorkloads, removedPackages } = delivered;
  return [
    { rows: [[environment, summarise(delivered)]], min: [11] },
    ...(removedPackages.length > 0
      ? [paragraph(`${environment}: removes ${removedPackages.join(', ')}`)]
      : []),
    ...(held.length + heldWorkloads.length > 0
      ? [
          `${environment}: ${summariseHeld(held.length, heldWorkloads.length)} and keep what they have; the others are not affected`,
        ]
      : []),
  ];
};

/** Errors and advice of one environment. */
export const deliveredNotes = ({ held, heldWorkloads, advice, problems }: Delivered): readonly string[] => [
  ...heldLines(
    held.map(({ assignment: { clusterType, target }, error }) => ({
      name: `${clusterType.name}/${target.name}`,
      error,
      kept: false,
    })),
  ),
  ...heldWorkloads.flatMap(({ errors }) => errors.map((error) => `held: ${formatError(error)}`)),
  ...advice.map((one) => `advice: ${formatError(one)}`),
  ...problems.map(formatError),
];

const summarise = ({
  outcome,
  to,
  written,
  removed,
  unchanged,
  commit,
  proposal,
  pullRequest,
  superseded,
  waits,
}: Delivered): string => {
  const files = `${written.length} files written, ${removed.length} removed, ${unchanged} unchanged`;
  const also = superseded.length > 0 ? `; superseded: ${superseded.join(', ')}` : '';
  const where = pullRequest ?? proposal;
  switch (outcome) {
    case 'failed':
      return 'nothing was delivered';
    case 'waiting':
      return waits ? `not delivered: ${formatSentences(waits)}` : 'nothing was delivered';
    case 'unchanged':
      return `${to} unchanged${where === undefined ? '' : `: proposed already by ${where}`}${also}`;
    case 'pushed':
      return `${to} pushed ${commit?.slice(0, 12)}: ${files}`;
    case 'written':
      return `${to} written: ${files}`;
    case 'planned':
      return `${to} would change: ${files}`;
    case 'proposed':
      return `${to} proposed by ${where}: ${files}${also}`;
    case 'declined':
      return `${to} declined: ${where} proposed the same change and was closed`;
  }
};
