import { Button, Table, Title } from '@mantine/core';
import { Link } from 'react-router';
import type { Events } from '#bundles/transport/hub/client';
import { Age } from '../parts/age.tsx';
import { ShortDigest } from '../parts/digest.tsx';
import { Wide } from '../parts/wide.tsx';

/** Events in the order of the hub's answer, each with its report. */
export const Timeline = ({ answer: { at, events, next } }: { readonly answer: Events }) => (
  <section aria-labelledby="events">
    <Title order={2} id="events">
      Events
    </Title>
    <Wide label="Events" headings={['Time', 'Agent', 'Event', 'Assignment', 'Outcome', 'Report']}>
      {events.map(({ event, source, hash }) => (
        <Table.Tr key={hash}>
          <Table.Td>
            <Age at={event.at} now={at} />
          </Table.Td>
          <Table.Td>{event.agent}</Table.Td>
          <Table.Td>
            {event.seq} {event.type}
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
    {next !== null && (
      <Button component={Link} to={`?cursor=${encodeURIComponent(next)}`} variant="default" my="md">
        More events
      </Button>
    )}
  </section>
);
