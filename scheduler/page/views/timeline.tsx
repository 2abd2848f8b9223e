import { Anchor, Button, Table, Text, Timeline as Line, Title } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';
import type { Audit, Events } from '#bundles/schemas/types/hub-decisions';
import { Age } from '../parts/age.tsx';
import { ShortDigest } from '../parts/digest.tsx';
import { eventAddress, type Happening, joinHappenings, timeOfOldest } from '../parts/happenings.ts';
import { Shape } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';

/** Happenings that are drawn; the table has all. */
const DRAWN = 25;

type Props = { readonly answer: Events; readonly entries: Audit['entries'] };

/** Events of the site and decisions of the office in one line, and all events as a table, each with its report. */
export const Timeline = ({ answer: { at, events, next }, entries }: Props) => {
  const [query] = useSearchParams();
  const all = joinHappenings({ events, entries }, next !== null, query.get('before') ?? undefined);
  return (
    <section aria-labelledby="timeline">
      <Title order={2} id="timeline">
        Timeline
      </Title>
      <Line bulletSize={18} lineWidth={2} active={-1}>
        {all.slice(0, DRAWN).map((one) => (
          <Line.Item key={one.id} bullet={<Bullet of={one} />} title={<Anchored of={one} />}>
            {one.text !== null && (
              <Text size="sm" className="clamped">
                {one.text}
              </Text>
            )}
            <Text size="sm" c="dimmed">
              <Age at={one.at} now={at} />
              {one.by === 'office' ? ', at the office' : ''}
              {isLateWord(one) && one.receivedAt !== null && (
                <>
                  , received <Age at={one.receivedAt} now={at} />
                </>
              )}
            </Text>
          </Line.Item>
        ))}
      </Line>
      <details className="after">
        <summary>All events of this page, as a table</summary>
        <EventTable answer={{ at, events }} />
      </details>
      {next !== null && (
        <Button
          component={Link}
          to={`?${new URLSearchParams({ cursor: next, before: timeOfOldest(events) ?? at })}`}
          variant="default"
          my="md"
        >
          More events
        </Button>
      )}
    </section>
  );
};

const HOUR_MS = 3_600_000;

/** Whether it came much later than it happened, as on a medium. */
const isLateWord = ({ at, receivedAt }: Happening): boolean =>
  receivedAt !== null && Date.parse(receivedAt) - Date.parse(at) > HOUR_MS;

const Bullet = ({ of: { by, tone } }: { readonly of: Happening }) =>
  by === 'office' ? <span className="office">▸</span> : <Shape tone={tone} />;

const Anchored = ({ of: { title, to } }: { readonly of: Happening }) => (
  <Anchor component={Link} to={to} size="sm" fw={600}>
    {title}
  </Anchor>
);

const EventTable = ({ answer: { at, events } }: { readonly answer: Pick<Events, 'at' | 'events'> }) => (
  <Wide label="Events" headings={['Time', 'Agent', 'Event', 'Assignment', 'Outcome', 'Report']}>
    {events.map(({ event, source, hash }) => (
      <Table.Tr key={hash}>
        <Table.Td>
          <Age at={event.at} now={at} />
        </Table.Td>
        <Table.Td>{event.agent}</Table.Td>
        <Table.Td>
          <Anchor component={Link} to={eventAddress(event)}>
            {event.seq} {event.type}
          </Anchor>
        </Table.Td>
        <Table.Td>{event.assignment}</Table.Td>
        <Table.Td>
          {[event.outcome, event.code].filter(Boolean).join(' ')}
          {event.message !== undefined && <div>{event.message}</div>}
        </Table.Td>
        <Table.Td>
          <ShortDigest of={source.report} /> received <Age at={source.receivedAt} now={at} />
        </Table.Td>
      </Table.Tr>
    ))}
  </Wide>
);
