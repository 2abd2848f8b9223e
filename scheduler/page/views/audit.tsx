import { Anchor, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import type { Audit } from '#bundles/schemas/types/hub-decisions';
import { audit } from '#bundles/transport/hub/client';
import { ask } from '../api/ask.ts';
import { readNarrowed } from '../api/read-narrowed.ts';
import { Age } from '../parts/age.tsx';
import { describeEntry, RULE } from '../parts/describe-entry.ts';
import { ShortDigest } from '../parts/digest.tsx';
import { entryAddress } from '../parts/entry-address.ts';
import type { Facet } from '../parts/facet.ts';
import { type Column, FilteredTable } from '../parts/filtered-table.tsx';
import type { Order } from '../parts/order.ts';
import { Pages } from '../parts/pages.tsx';

/** Entries that one answer has, and that choices are counted among. */
const ENTRIES = 1000;

type Entry = Audit['entries'][number];

export const readAudit = async ({ request }: LoaderFunctionArgs): Promise<Audit> => {
  const query = new URL(request.url).searchParams;
  return readNarrowed(query, (asked) =>
    ask((options) => audit({ ...asked, limit: ENTRIES }, options), request.signal),
  );
};

/** Promotions, approvals, decisions and changes, each signed and chained to the one before; the hub verifies all of them for each answer. */
export const AuditView = () => {
  const { at, head, entries, next } = useLoaderData<Audit>();
  return (
    <>
      <title>Audit log - Fleet Ferry</title>
      <Title order={1}>Audit log</Title>
      {head === null ? (
        <Text>The audit log is empty.</Text>
      ) : (
        <Text>
          The hub verified the chain and every signature up to its head <ShortDigest of={head} />.
        </Text>
      )}
      <FilteredTable
        label="Entries"
        noun="entries"
        rows={entries}
        keyOf={(entry) => `${entry.number}`}
        columns={columnsAt(at)}
        facets={FACETS}
        orders={ORDERS}
        hasMore={next !== null}
      />
      <Pages next={next} />
    </>
  );
};

const FACETS: readonly Facet<Entry>[] = [
  { key: 'environment', label: 'Environment', of: ({ environment }) => [environment ?? '-'] },
  { key: 'kind', label: 'Kind', of: ({ kind }) => [kind] },
  { key: 'what', label: 'Entry', of: ({ what }) => [what] },
  { key: 'person', label: 'Who', of: ({ person }) => [person ?? RULE] },
];

const ORDERS: readonly Order<Entry>[] = [
  { value: 'newest', label: 'time, the newest first', compare: (a, b) => b.number - a.number },
  { value: 'oldest', label: 'time, the oldest first', compare: (a, b) => a.number - b.number },
  { value: 'person', label: 'who', compare: (a, b) => (a.person ?? RULE).localeCompare(b.person ?? RULE) },
];

const columnsAt = (now: string): readonly Column<Entry>[] => [
  { name: 'Number', text: ({ number }) => `${number}` },
  { name: 'Time', text: ({ at }) => at, cell: ({ at }) => <Age at={at} now={now} /> },
  { name: 'Environment', text: ({ environment }) => environment ?? '-' },
  {
    name: 'Entry',
    text: describeEntry,
    cell: (entry) => (
      <Anchor component={Link} to={entryAddress(entry)}>
        {describeEntry(entry)}
      </Anchor>
    ),
  },
  {
    name: 'Who',
    text: ({ person }) => person ?? RULE,
    cell: ({ person }) => person ?? <span className="whole">{RULE}</span>,
  },
  { name: 'Reason', text: ({ reason }) => reason ?? '' },
  {
    name: 'Candidate',
    text: ({ candidate, ended }) => [candidate, ended].filter((one) => typeof one === 'string').join(' '),
    cell: ({ candidate, ended }) => (
      <>
        {candidate !== null && <ShortDigest of={candidate} />}
        {ended !== undefined && ended !== null && (
          <>
            <ShortDigest of={ended} /> ended, built from the newest state again
          </>
        )}
      </>
    ),
  },
  { name: 'Digest', text: ({ digest }) => digest, cell: ({ digest }) => <ShortDigest of={digest} /> },
  { name: 'Key', text: ({ signer }) => signer, cell: ({ signer }) => <ShortDigest of={signer} /> },
];
