import { hexOf } from '#bundles/digest';
import { formatTime } from '#bundles/time';
import { paragraph, type Printed } from '#cli/format-table';
import type { Hub } from '../../hub.ts';
import { formatAge } from '../status/format-age.ts';
import type { Answer } from './answer-history.ts';
import type { Question } from '../history/parse-question.ts';
import { readEvents, type StoredEvent } from '../history/read-events.ts';
import { beginning, describeRemoved } from '../history/describe-removed.ts';

/** Events as the agents wrote them, each with the report that brought it. */
export const answerEvents = async (
  { store }: Pick<Hub, 'store'>,
  { subject, span, page }: Pick<Question, 'subject' | 'span' | 'page'>,
  now: Date,
): Promise<Answer> => {
  const { events, next } = await readEvents(store.db, subject, span, page);
  const answer = {
    lines:
      events.length === 0
        ? ['No events.']
        : [
            ...events.flatMap((one) => describeEvent(one, now)),
            ...(next === null ? [] : ['', `More: --cursor ${next}`]),
          ],
    json: { fleet: store.fleet, at: formatTime(now), events, next },
  };
  return await describeRemoved(store.db, answer, [span.since ?? beginning(next), span.until, span.knownAt]);
};

const describeEvent = ({ event, source }: StoredEvent, now: Date): readonly Printed[] => {
  const { at, agent, seq, type, assignment, outcome, code, message } = event;
  const words = [at, ` ${agent}`, `${seq}`, type, assignment, outcome, code].filter(
    (word) => word !== undefined,
  );
  const clock = source.clockTrusted ? '' : ', its clock was not trusted';
  return [
    paragraph(words.join(' ')),
    ...(message === undefined ? [] : [paragraph(message.replaceAll(/\s+/g, ' '), 4)]),
    paragraph(
      `report ${hexOf(source.report).slice(0, 12)} by ${source.by}, received ${formatAge(source.receivedAt, now)}${clock}`,
      4,
    ),
  ];
};
