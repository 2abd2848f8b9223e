import { plainText } from '#bundles/errors';
import type { Notice, What } from './notice.ts';

const WORDS: Readonly<Record<What, string>> = {
  opened: 'new',
  worsened: 'worse',
  repeated: 'still there',
  resolved: 'over',
};

/** Alarms that a message has in full. */
const SHOWN = 100;

/** A message for people. */
export const describeNotices = (
  notices: readonly Notice[],
  fleet: string,
): { readonly subject: string; readonly text: string } => {
  const counts = Object.entries(WORDS).flatMap(([what, word]) => {
    const count = notices.filter((one) => one.what === what).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  const [first] = notices;
  const subject =
    notices.length === 1 && first
      ? `[${fleet}] ${WORDS[first.what]}: ${first.alarm.summary}`
      : `[${fleet}] alarms: ${counts.join(', ')}`;
  const shown = notices.slice(0, SHOWN).map(describeOne);
  const rest = notices.length - shown.length;
  const end = rest > 0 ? [`And ${rest} more; see: fleet-scheduler status`] : [];
  return { subject: plainText(subject).slice(0, 200), text: `${[...shown, ...end].join('\n\n')}\n` };
};

const describeOne = ({ what, alarm, action, resolvedAt }: Notice): string =>
  plainText(
    [
      `${alarm.severity}, ${WORDS[what]}: ${alarm.summary}.`,
      `  ${alarm.kind} since ${alarm.since}${resolvedAt === null ? '' : `, over at ${resolvedAt}`}`,
      ...(what === 'resolved' ? [] : [`  ${action}.`]),
    ].join('\n'),
  );
