import { Anchor, Button, Group, Table, Text, TextInput, Title } from '@mantine/core';
import { Form, Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import type { Search } from '#bundles/schemas/types/hub-decisions';
import { search } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { addressOf } from '../parts/address-of.ts';
import { Pages } from '../parts/pages.tsx';
import { Wide } from '../parts/wide.tsx';

const RESULTS = 50;

/** null: no search term yet. */
export const readSearch = async ({ request }: LoaderFunctionArgs): Promise<Search | null> => {
  const query = new URL(request.url).searchParams;
  const q = (query.get('q') ?? '').trim();
  if (q === '') return null;
  const asked = { q, ...given({ cursor: query.get('cursor') }), limit: RESULTS };
  return ask((options) => search(asked, options), request.signal);
};

/** Search over all objects, by name or by the first digits of a digest. */
export const SearchView = () => {
  const answer = useLoaderData<Search | null>();
  const [query] = useSearchParams();
  return (
    <>
      <title>Search - Fleet Ferry</title>
      <Title order={1}>Search</Title>
      <Form role="search" aria-label="Everything" key={query.get('q') ?? ''}>
        <Group align="end" my="md">
          <TextInput
            name="q"
            label="Name or digest"
            description="Environment, site, agent, workload, assignment or release; or at least six digits of a digest"
            defaultValue={query.get('q') ?? ''}
            maxLength={100}
            required
            withAsterisk={false}
          />
          <Button type="submit">Search</Button>
        </Group>
      </Form>
      {answer !== null && (
        <>
          {answer.found.length === 0 && <Text>Nothing has this name or digest.</Text>}
          <Wide label="Found" headings={['Kind', 'Name', 'In']}>
            {answer.found.map((one) => (
              <Table.Tr key={`${one.kind} ${one.name}`}>
                <Table.Td>{one.kind}</Table.Td>
                <Table.Th scope="row">
                  <Anchor component={Link} to={addressOf(one)}>
                    {one.name}
                  </Anchor>
                </Table.Th>
                <Table.Td>{one.in}</Table.Td>
              </Table.Tr>
            ))}
          </Wide>
          <Pages next={answer.next} />
        </>
      )}
    </>
  );
};
