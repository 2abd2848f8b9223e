import { Anchor, Code, Group, Table, Text, Title } from '@mantine/core';
import { Link, type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { defined } from '#bundles/defined';
import { getV1Package, type Package, releaseRollback } from '#bundles/transport/hub/client';
import { ask } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { Change } from '../parts/change.tsx';
import { ShortDigest } from '../parts/digest.tsx';
import { LongTable } from '../parts/long-table.tsx';
import { State } from '../parts/state.tsx';
import { Wide } from '../parts/wide.tsx';
import { Decide, type Decision } from './decide.tsx';

export const readPackage = async ({ params, request }: LoaderFunctionArgs): Promise<Package> => {
  const { site = '', agent = '', assignment = '' } = params;
  const asked = { agent: `${site}/${agent}`, assignment };
  return ask((options) => getV1Package(asked, options), request.signal);
};

/** One package at one agent: its objects, how the live state differs, and what the update to the wanted one changes. */
export const PackageView = () => {
  const answer = useLoaderData<Package>();
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
      <DriftSection drift={drift} now={at} />
      <Differences differences={differences} isSame={running?.package === wanted?.package} />
      <section aria-labelledby="objects">
        <Title order={2} id="objects">
          Objects
        </Title>
        {objects === null ? (
          <Text>No release in the layout has this package any more, so its objects are not known.</Text>
        ) : (
          <LongTable
            label="Objects of the package"
            headings={['Object', 'File']}
            rows={objects}
            textOf={({ object, file }) => `${object} ${file}`}
          >
            {({ object, file }, props) => (
              <Table.Tr key={object} {...props}>
                <Table.Th scope="row">{object}</Table.Th>
                <Table.Td>{file}</Table.Td>
              </Table.Tr>
            )}
          </LongTable>
        )}
      </section>
    </>
  );
};

/** Takes this assignment back at all agents of the channel. The next build releases it, and only it goes back. */
const takingBack = ({ assignment, channel, earlier, wanted }: Package): Decision => {
  const [environment = '', clusterType = ''] = channel.split('/');
  return {
    title: 'Roll back',
    what: `Roll back ${assignment} in ${channel}`,
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

const DriftSection = ({ drift, now }: DriftProps) => (
  <section aria-labelledby="drift">
    <Title order={2} id="drift">
      Drift
    </Title>
    {drift === null ? (
      <Text>Drift was never reported.</Text>
    ) : (
      <>
        <Text component="div">
          <State mood={drift.drifted ? 'bad' : 'good'}>{drift.drifted ? 'drifted' : 'none'}</State>, as of{' '}
          <Age at={drift.at} now={now} />
          {drift.message !== null && `: ${drift.message}`}
        </Text>
        {drift.objects.length > 0 && (
          <Wide label="Objects that drifted" headings={['Object', 'Kind', 'What differs']}>
            {drift.objects.map(({ key, what, message }) => (
              <Table.Tr key={`${key} ${what}`}>
                <Table.Th scope="row">
                  <Code>{key}</Code>
                </Table.Th>
                <Table.Td>{what}</Table.Td>
                <Table.Td>{message}</Table.Td>
              </Table.Tr>
            ))}
          </Wide>
        )}
        {drift.more > 0 && <Text>The agent counted {drift.more} more.</Text>}
      </>
    )}
  </section>
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
