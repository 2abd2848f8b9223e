import { Button, Group, Table, Text, TextInput, Title } from '@mantine/core';
import { Form, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { type Audit, audit } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { describeEntry } from '../parts/describe-entry.ts';
import { ShortDigest } from '../parts/digest.tsx';
import { Pages } from '../parts/pages.tsx';
import { Wide } from '../parts/wide.tsx';

const ENTRIES = 100;

export const readAudit = async ({ request }: LoaderFunctionArgs): Promise<Audit> => {
  const query = new URL(request.url).searchParams;
  const asked = given({ environment: query.get('environment'), cursor: query.get('cursor') });
  return ask((options) => audit({ ...asked, limit: ENTRIES }, options), request.signal);
};

/** Promotions, approvals, decisions and changes, each signed and chained to the one before; the hub verifies all of them for each answer. */
export const AuditView = () => {
  const { at, head, entries, next } = useLoaderData<Audit>();
  const [query] = useSearchParams();
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
      <Form role="search" aria-label="Filters" key={query.toString()}>
        <Group align="end" my="md">
          <TextInput name="environment" label="Environment" defaultValue={query.get('environment') ?? ''} />
          <Button type="submit">Filter</Button>
        </Group>
      </Form>
      <Wide
        label="Entries"
        headings={['Number', 'Time', 'Environment', 'Entry', 'Who', 'Reason', 'Candidate', 'Digest', 'Key']}
      >
        {entries.map((entry) => (
          <Table.Tr key={entry.number}>
            <Table.Th scope="row">{entry.number}</Table.Th>
            <Table.Td>
              <Age at={entry.at} now={at} />
            </Table.Td>
            <Table.Td>{entry.environment ?? '-'}</Table.Td>
            <Table.Td>{describeEntry(entry)}</Table.Td>
            <Table.Td>{entry.person ?? 'a rule'}</Table.Td>
            <Table.Td>{entry.reason}</Table.Td>
            <Table.Td>
              {entry.candidate !== null && <ShortDigest of={entry.candidate} />}
              {entry.ended !== undefined && entry.ended !== null && (
                <>
                  <ShortDigest of={entry.ended} /> ended, built from the newest state again
                </>
              )}
            </Table.Td>
            <Table.Td>
              <ShortDigest of={entry.digest} />
            </Table.Td>
            <Table.Td>
              <ShortDigest of={entry.signer} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Wide>
      <Pages next={next} />
    </>
  );
};
