import { Alert, Button, Table, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useRevalidator } from 'react-router';
import type { Sessions } from '#bundles/schemas/types/hub-decisions';
import { endSession, sessions } from '#bundles/transport/hub/client';
import { ask, Refusal, send } from '../api/ask.ts';
import { useMe } from '../api/me.ts';
import { Age, At } from '../parts/age.tsx';
import { LongTable } from '../parts/long-table.tsx';
import { State } from '../parts/state.tsx';

export const readSessions = ({ request }: LoaderFunctionArgs): Promise<Sessions> =>
  ask(sessions, request.signal);

/** Sessions of the person, or for admins of all people, with a button that ends one. */
export const SessionsView = () => {
  const { at, sessions: listed } = useLoaderData<Sessions>();
  const { revalidate } = useRevalidator();
  const me = useMe();
  const [fault, setFault] = useState<Refusal>();
  const end = async (session: string): Promise<void> => {
    setFault(undefined);
    try {
      await send((options) => endSession({ session }, options));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setFault(error);
    }
    await revalidate();
  };
  const whose =
    me?.admin === true
      ? 'Sessions of all people in the last 30 days, the newest first.'
      : 'Your sessions of the last 30 days, the newest first.';
  return (
    <>
      <title>Sessions - Fleet Ferry</title>
      <Title order={1}>Sessions</Title>
      <Text>
        {me?.kind === 'token'
          ? 'You use a token, which has no session. Sign in at the provider to see your sessions.'
          : whose}
      </Text>
      {fault !== undefined && (
        <Alert role="alert" my="md" variant="outline" color="red" title={fault.code}>
          {fault.message}
        </Alert>
      )}
      {listed.length > 0 && (
        <LongTable
          label="Sessions"
          headings={['Person', 'State', 'By', 'Groups', 'Began', 'Last used', 'Ends', 'Action']}
          rows={listed}
          textOf={({ person, state, groups }) => [person, state, ...groups].join(' ')}
        >
          {(
            { id, person, state, kind, issuer, groups, createdAt, seenAt, endsAt, endedWhy, current },
            props,
          ) => (
            <Table.Tr key={id} {...props}>
              <Table.Th scope="row">{person}</Table.Th>
              <Table.Td>
                <State mood={state === 'open' ? 'good' : 'quiet'}>{current ? 'open, this one' : state}</State>
                {endedWhy !== null && <Text size="sm">{endedWhy}</Text>}
              </Table.Td>
              <Table.Td>{kind === 'oidc' ? issuer : 'break-glass code'}</Table.Td>
              <Table.Td>{groups.join(', ')}</Table.Td>
              <Table.Td>
                <Age at={createdAt} now={at} />
              </Table.Td>
              <Table.Td>
                <Age at={seenAt} now={at} />
              </Table.Td>
              <Table.Td>
                <At at={endsAt} />
              </Table.Td>
              <Table.Td>
                {state === 'open' && !current && (
                  <Button
                    variant="default"
                    size="xs"
                    aria-label={`End the session of ${person} that began ${createdAt}`}
                    onClick={() => void end(id)}
                  >
                    End
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          )}
        </LongTable>
      )}
    </>
  );
};
