import { Anchor, Group, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { defined } from '#bundles/defined';
import type { Media, Package, StatusRow } from '#bundles/schemas/types/hub-decisions';
import { getV1Package, media, releaseRollback, status } from '#bundles/transport/hub/client';
import { ask } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { Change } from '../parts/change.tsx';
import { ShortDigest } from '../parts/digest.tsx';
import { HealthText } from '../parts/health-text.tsx';
import { PackageTree } from '../parts/package-tree.tsx';
import { movesOfReleases, WhatMoves } from '../parts/pipeline/what-moves.tsx';
import { Judgement, State } from '../parts/state.tsx';
import { waitsFor } from '../parts/waits.ts';
import { Decide, type Decision } from './decide.tsx';

type Answers = {
  readonly answer: Package;
  /** Its row of the status; undefined: it is neither wanted nor running. */
  readonly row: StatusRow | undefined;
  readonly carried: Media['agents'][number] | undefined;
};

/** A site has a few agents; the limit is the largest that the hub allows. */
const AGENTS = 1000;

export const readPackage = async ({ params, request }: LoaderFunctionArgs): Promise<Answers> => {
  const { site = '', agent = '', assignment = '' } = params;
  const asked = { agent: `${site}/${agent}`, assignment };
  const { signal } = request;
  const [answer, rows, carried] = await Promise.all([
    ask((options) => getV1Package(asked, options), signal),
    ask((options) => status({ site, limit: AGENTS }, options), signal),
    ask((options) => media({ site, limit: AGENTS }, options), signal),
  ]);
  return {
    answer,
    row: rows.rows.find((one) => one.agent === agent && one.assignment === assignment),
    carried: carried.agents.find((one) => one.agent === asked.agent),
  };
};

/** One package at one agent: its objects, how the live state differs, and what the update to the wanted one changes. */
export const PackageView = () => {
  const { answer, row, carried } = useLoaderData<Answers>();
  const { at, agent, assignment, wanted, running, objects, differences, drift } = answer;
  return (
    <>
      <title>{`${assignment} at ${agent} - Fleet Ferry`}</title>
      <Title order={1}>
        {assignment} at {agent}
      </Title>
      <Text>
        <Anchor component={Link} to={`/sites/${agent.split('/')[0] ?? ''}`}>
          All of this site
        </Anchor>
      </Text>
      <Text>
        Runs {running === null ? 'nothing that was reported' : <Named of={running} />}. Wanted:{' '}
        {wanted === null ? (
          'nothing'
        ) : (
          <>
            <Named of={wanted} />, release {wanted.release}
          </>
        )}
        .
      </Text>
      {answer.earlier.length > 0 && (
        <Group my="sm">
          <Decide decision={takingBack(answer)} />
        </Group>
      )}
      {row !== undefined && <Condition row={row} carried={carried} now={at} />}
      <section aria-labelledby="objects">
        <Title order={2} id="objects">
          Objects
        </Title>
        <DriftText drift={drift} now={at} />
        {objects === null && (
          <Text>No release in the layout has this package any more, so its objects are not known.</Text>
        )}
        <PackageTree objects={objects ?? []} drift={drift} />
      </section>
      <Differences differences={differences} isSame={running?.package === wanted?.package} />
    </>
  );
};

type ConditionProps = { readonly row: StatusRow; readonly carried: Answers['carried']; readonly now: string };

/** The verdict, what it waits for, its health with the output of failed checks, and the ages of all that. */
const Condition = ({ row, carried, now }: ConditionProps) => (
  <section aria-labelledby="health">
    <Group gap="sm" my="sm">
      <Judgement row={row} />
      <Text size="sm" c="dimmed">
        Compared <Age at={row.saidAt} now={now} />, heard <Age at={row.heardAt} now={now} />.
      </Text>
    </Group>
    <Text>Waits for {waitsFor(row, carried) ?? 'nothing'}.</Text>
    <Title order={2} id="health">
      Health
    </Title>
    <Text component="div">
      <HealthText health={row.health} now={now} />
    </Text>
  </section>
);

/** Takes this assignment back at all agents of the channel. The next build releases it, and only it goes back. */
const takingBack = ({ assignment, channel, earlier, wanted }: Package): Decision => {
  const [environment = '', clusterType = ''] = channel.split('/');
  return {
    title: 'Roll back',
    what: `Roll back ${assignment} in ${channel}`,
    object: wanted === null ? '' : `release ${wanted.release}`,
    decide: (reason, options, choice) =>
      releaseRollback(
        {
          environment,
          clusterType,
          releaseRollback: defined({
            assignment,
            reason,
            release: choice === '' ? undefined : Number(choice),
          }),
        },
        options,
      ),
    allowance: `rollback:${environment}`,
    byWorkspace: true,
    preview: (choice) =>
      choice === '' ? (
        <Text size="sm" mb="sm">
          The next build gives it the newest package again.
        </Text>
      ) : (
        <WhatMoves
          title="Changes back"
          moves={movesOfReleases({ channel, to: Number(choice), only: assignment })}
        />
      ),
    choices: {
      label: `At all agents of ${channel}, to`,
      options: [
        ...earlier.map(({ release, name }) => ({
          value: `${release}`,
          label: `release ${release}: ${name}`,
        })),
        { value: '', label: `the newest again (now ${wanted?.name ?? 'nothing'}): end the rollback` },
      ],
    },
  };
};

const Named = ({ of: { name, package: digest } }: { readonly of: NonNullable<Package['running']> }) => (
  <>
    {name}
    {/* The name of a package without a version ends with its digest. */}
    {!name.includes(digest.replace('sha256:', '').slice(0, 12)) && (
      <>
        {' '}
        <ShortDigest of={digest} />
      </>
    )}
  </>
);

type DriftProps = { readonly drift: Package['drift']; readonly now: string };

const DriftText = ({ drift, now }: DriftProps) =>
  drift === null ? (
    <Text>Drift was never reported.</Text>
  ) : (
    <Text component="div">
      <State mood={drift.drifted ? 'bad' : 'good'}>{drift.drifted ? 'drifted' : 'no drift'}</State>, as of{' '}
      <Age at={drift.at} now={now} />
      {drift.message !== null && `: ${drift.message}`}
    </Text>
  );

type DifferencesProps = { readonly differences: Package['differences']; readonly isSame: boolean };

const Differences = ({ differences, isSame }: DifferencesProps) => (
  <section aria-labelledby="update">
    <Title order={2} id="update">
      What the update changes
    </Title>
    {isSame && <Text>Nothing: the wanted package runs.</Text>}
    {!isSame && differences === null && <Text>Not known: the layout does not have both packages.</Text>}
    {!isSame &&
      differences?.map((object) => <Change key={`${object.file} ${object.object}`} object={object} />)}
  </section>
);
