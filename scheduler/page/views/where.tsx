import { Button, Group, Text, TextInput, Title } from '@mantine/core';
import { Form, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import type { Where } from '#bundles/schemas/types/hub-decisions';
import { where } from '#bundles/transport/hub/client';
import { ask, given } from '../api/ask.ts';
import { At } from '../parts/age.tsx';
import { RunningAgents } from '../parts/running-agents.tsx';

/** Agents that one answer has, and that choices are counted among. */
const AGENTS = 500;

export const readWhere = async ({ request }: LoaderFunctionArgs): Promise<Where> => {
  const query = new URL(request.url).searchParams;
  const asked = given({ name: query.get('name'), at: query.get('at'), cursor: query.get('cursor') });
  return ask((options) => where({ ...asked, limit: AGENTS }, options), request.signal);
};

/** Where a workload, bundle or image runs, in which version and since when; now or at a past time. */
export const WhereView = () => {
  const answer = useLoaderData<Where>();
  const { at, agents } = answer;
  const [query] = useSearchParams();
  return (
    <>
      <title>What runs where - Fleet Ferry</title>
      <Title order={1}>What runs where</Title>
      <Text>
        At <At at={at} />.
      </Text>
      <Form role="search" key={query.toString()}>
        <Group align="end" my="md">
          <TextInput
            name="name"
            label="Name"
            description="Environment, site, agent, workload or assignment"
            defaultValue={query.get('name') ?? ''}
          />
          <TextInput
            name="at"
            label="Time"
            description="Such as 2026-11-01T08:00:00Z; empty: now"
            defaultValue={query.get('at') ?? ''}
          />
          <Button type="submit">Search</Button>
        </Group>
      </Form>
      {agents.length === 0 && <Text>Nothing runs.</Text>}
      <RunningAgents where={answer} assignments />
    </>
  );
};
