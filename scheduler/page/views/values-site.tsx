import { Alert, Anchor, Group, Table, Text, Title } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { Link, type LoaderFunctionArgs, redirect, useLoaderData, useSearchParams } from 'react-router';
import type { ShownChange, ValuesOfSite, ValuesVersions } from '#bundles/schemas/types/hub-decisions';
import { valuesChange, valuesOfSite, valuesVersions } from '#bundles/transport/hub/client';
import { ask, Refusal, send } from '../api/ask.ts';
import { At } from '../parts/age.tsx';
import { BAD } from '../parts/bad.ts';
import { ChangedValues } from '../parts/changed-values.tsx';
import { RULE } from '../parts/describe-entry.ts';
import { Wide } from '../parts/wide.tsx';
import { WithReason } from '../parts/with-reason.tsx';

/** The library of forms is loaded with the first one. */
const ValuesForm = lazy(() => import('./values-form.tsx'));

type Answer = { readonly found: ValuesOfSite; readonly versions: ValuesVersions['versions'] };

const VERSIONS = 20;

export const readSiteValues = async ({ params, request }: LoaderFunctionArgs): Promise<Answer> => {
  const { site = '' } = params;
  const { signal } = request;
  try {
    const [found, { versions }] = await Promise.all([
      ask((options) => valuesOfSite({ site }, options), signal),
      ask((options) => valuesVersions({ site, limit: VERSIONS }, options), signal),
    ]);
    return { found, versions };
  } catch (error) {
    // The audit log leads here, also from a site whose agents were revoked since: its view has its history.
    if (error instanceof Refusal && error.code === 'SITE_MISSING') throw redirect(`/sites/${site}`);
    throw error;
  }
};

/** The values of a site and of its agents: form, review, history and undo. */
export const SiteValuesView = () => {
  const { found, versions } = useLoaderData<Answer>();
  const [query] = useSearchParams();
  const agent = query.get('agent');
  const place = found.places.find((one) => one.agent === agent) ?? found.places[0];
  const { site, held, untaken } = found;
  return (
    <>
      <title>{`Values of ${site} - Fleet Ferry`}</title>
      <Title order={1}>Values of {site}</Title>
      <Text>
        <Anchor component={Link} to="/values">
          All layers and sites
        </Anchor>
      </Text>
      {held !== null && (
        <Alert
          role="status"
          variant="default"
          classNames={BAD}
          title="This site keeps the values that it has"
          my="md"
        >
          {held.reasons.map(({ code, message, hint }) => (
            <Text key={message}>
              {code}: {message}. {hint}
            </Text>
          ))}
        </Alert>
      )}
      <Group component="nav" aria-label="Places" my="md">
        {found.places.map((one) => (
          <Anchor
            key={one.agent ?? ''}
            component={Link}
            to={one.agent === null ? '?' : `?agent=${one.agent}`}
            aria-current={one === place ? 'page' : undefined}
            fw={one === place ? 700 : undefined}
          >
            {one.agent === null ? `${site}, all agents` : one.agent}
          </Anchor>
        ))}
      </Group>
      {place !== undefined && (
        <Text size="sm">
          {place.channels.join(', ')}
          {Object.entries(place.labels).map(([key, value]) => `, ${key}=${value}`)}
        </Text>
      )}
      {place !== undefined && place.values.length === 0 && (
        <Text>No application here takes a value of the site.</Text>
      )}
      {place !== undefined && place.values.length > 0 && (
        <Suspense fallback={<Text>The form is loading.</Text>}>
          <ValuesForm key={JSON.stringify([site, place.agent])} site={found} place={place} />
        </Suspense>
      )}
      {untaken.length > 0 && (
        <Text>
          No application takes any more: {[...new Set(untaken.map(({ name }) => name))].join(', ')}. Going
          back to a version without them, or the platform team, removes them.
        </Text>
      )}
      <History found={found} versions={versions} />
    </>
  );
};

const History = ({ found, versions }: Answer) => {
  const { site, places } = found;
  const mayDecide = places.some(({ values }) => values.some(({ editable }) => editable));
  return (
    <section aria-labelledby="history">
      <Title order={2} id="history">
        History
      </Title>
      <Wide label="Versions" headings={['Version', 'When', 'Who', 'What', 'Undo']}>
        {versions.map(({ version, at, person, reason, changes, layers = [] }, index) => (
          <Table.Tr key={version}>
            <Table.Th scope="row">{version}</Table.Th>
            <Table.Td>
              <At at={at} />
            </Table.Td>
            <Table.Td>
              <Anchor
                component={Link}
                to={`/audit?${new URLSearchParams({ kind: 'change', person: person ?? RULE })}`}
              >
                {person ?? RULE}
              </Anchor>
              {reason === null ? '' : `: ${reason}`}
            </Table.Td>
            <Table.Td>
              {changes.map((one) => (
                <div key={`${one.agent} ${one.name}`}>{changeText(one)}</div>
              ))}
              {layers.map((one) => (
                <div key={`layers ${one.agent} ${one.name}`}>{changeText(one)} (layers)</div>
              ))}
            </Table.Td>
            <Table.Td>
              {mayDecide && versions.slice(0, index).some((one) => one.changes.length > 0) && (
                <WithReason
                  title="Go back"
                  what={`Go back to version ${version} of ${site}`}
                  object={`version ${found.version}`}
                  decide={async (why, key) => {
                    const body = { site, to: version, version: found.version, reason: why };
                    await send((options) => valuesChange({ valuesChange: body }, options), { key });
                  }}
                >
                  <ChangedValues
                    label="Values since then"
                    changes={versions
                      .slice(0, index)
                      .flatMap((one) => one.changes.map((each) => ({ site, ...each })))}
                  />
                </WithReason>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Wide>
    </section>
  );
};

const changeText = ({ agent, name, old, new: next }: ShownChange): string =>
  `${agent === null ? '' : `${agent}: `}${name}: ${shown(old)} → ${shown(next)}`;

const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
