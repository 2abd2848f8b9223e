import { Alert, Anchor, Group, Table, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import type { Platform } from '#bundles/schemas/types/hub-decisions';
import { platform } from '#bundles/transport/hub/client';
import { askAsAuthor, type NoAuthor } from '../api/author.ts';
import { AUTHOR_KINDS } from '../parts/author/author-kinds.ts';
import { NotAuthor } from '../parts/author/author-token.tsx';
import { Wide } from '../parts/wide.tsx';

export const readPlatform = ({ request }: LoaderFunctionArgs): Promise<Platform | NoAuthor> =>
  askAsAuthor(platform, request.signal);

/** Objects of the platform repository, by the folder or branch that they are in. */
export const PlatformView = () => {
  const found = useLoaderData<Platform | NoAuthor>();
  return (
    <>
      <title>Platform - Fleet Ferry</title>
      <Title order={1}>Platform</Title>
      {typeof found === 'string' ? <NotAuthor why={found} /> : <Layers platform={found} />}
    </>
  );
};

const editAddress = (query: Readonly<Record<string, string>>): string =>
  `/platform/edit?${new URLSearchParams(query).toString()}`;

const Layers = ({ platform: { form, advice, layers } }: { readonly platform: Platform }) => {
  const first = layers.find(({ name }) => name.startsWith('base')) ?? layers.at(-1);
  const creatable = AUTHOR_KINDS.filter(
    (one) =>
      one.form === form &&
      one.isOne !== true &&
      (one.layer === undefined || layers.some(({ name }) => name === one.layer)),
  );
  return (
    <>
      {advice !== null && (
        <Alert
          role="status"
          variant="default"
          title="Edits cannot be saved: the platform is in no repository"
        >
          {advice}.
        </Alert>
      )}
      {first !== undefined && (
        <Group my="md" aria-label="Create">
          {creatable.map(({ kind, title, layer = first.name }) => (
            <Anchor key={kind} component={Link} to={editAddress({ layer, kind })}>
              Create: {title.toLowerCase()}
            </Anchor>
          ))}
        </Group>
      )}
      {layers.map(({ name, place, promotedFrom, objects }) => (
        <section key={name} aria-label={name}>
          <Title order={2}>{name}</Title>
          <Text size="sm">
            {place ?? 'A folder of the hub'}
            {promotedFrom === null ? '' : `; what it shares comes once it was promoted from ${promotedFrom}`}
          </Text>
          {objects.length === 0 ? (
            <Text>No objects.</Text>
          ) : (
            <Wide label={`Objects of ${name}`} headings={['Kind', 'Name', 'File']}>
              {objects.map(({ kind, name: object, file, line }) => (
                <Table.Tr key={`${kind} ${object}`}>
                  <Table.Td>{kind}</Table.Td>
                  <Table.Td>
                    <Anchor component={Link} to={editAddress({ layer: name, kind, name: object })}>
                      {object}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>
                    {file}
                    {line === null ? '' : `:${line}`}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Wide>
          )}
        </section>
      ))}
    </>
  );
};
