import { Anchor, Button, Code, Group, List, Table, Text, TextInput, Title } from '@mantine/core';
import { Form, Link, type LoaderFunctionArgs, useLoaderData, useSearchParams } from 'react-router';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import type { ValuesProposals, ValuesTree } from '#bundles/schemas/types/hub-decisions';
import { valuesProposals, valuesReject, valuesTree } from '#bundles/transport/hub/client';
import { ask, given, send } from '../api/ask.ts';
import { Age } from '../parts/age.tsx';
import { ChangedValues } from '../parts/changed-values.tsx';
import { shortDigest } from '../parts/digest.tsx';
import { Pages } from '../parts/pages.tsx';
import { Wide } from '../parts/wide.tsx';
import { WithReason } from '../parts/with-reason.tsx';
import { labelText } from '../parts/label-text.ts';

type Answer = { readonly tree: ValuesTree; readonly proposals: ValuesProposals };
type Layer = ValuesTree['layers'][number];
type Proposal = ValuesProposals['proposals'][number];

export const readValues = async ({ request }: LoaderFunctionArgs): Promise<Answer> => {
  const query = new URL(request.url).searchParams;
  const asked = given({ select: query.get('select'), cursor: query.get('cursor') });
  const { signal } = request;
  const [tree, proposals] = await Promise.all([
    ask((options) => valuesTree(asked, options), signal),
    ask((options) => valuesProposals({}, options), signal),
  ]);
  return { tree, proposals };
};

/** Layers as a tree, the sites below them, and the changes that wait for review. */
export const ValuesView = () => {
  const { tree, proposals } = useLoaderData<Answer>();
  const [query] = useSearchParams();
  const select = query.get('select') ?? '';
  const environments = Map.groupBy(tree.layers, ({ environment }) => environment);
  return (
    <>
      <title>Values - Fleet Ferry</title>
      <Title order={1}>Values of sites</Title>
      <Review proposals={proposals} />
      <section aria-labelledby="layers">
        <Title order={2} id="layers">
          Layers
        </Title>
        {tree.layers.length === 0 && <Text>No layer of the platform selects a site that you see.</Text>}
        {[...environments].map(([environment, layers]) => (
          <div key={environment}>
            <Text fw={700}>{environment}</Text>
            <Layers layers={layers} below={{}} />
          </div>
        ))}
      </section>
      <Advice of={tree} />
      <section aria-labelledby="sites">
        <Title order={2} id="sites">
          Sites
        </Title>
        <Form method="get">
          <Group align="end" my="sm">
            <TextInput
              key={select}
              name="select"
              label="Labels"
              description="Like region=north,line=a"
              defaultValue={select}
            />
            <Button type="submit" variant="default">
              Show
            </Button>
          </Group>
        </Form>
        <Text>
          {formatCount(tree.total, 'site')}.{' '}
          <Anchor component={Link} to={`/values/select/sites?select=${encodeURIComponent(select)}`}>
            {select === '' ? 'Change values of many sites' : 'Change values of all sites with these labels'}
          </Anchor>
        </Text>
        <Wide label="Sites" headings={['Site', 'Labels', 'Agents']}>
          {tree.sites.map(({ site, labels, agents, held }) => (
            <Table.Tr key={site}>
              <Table.Th scope="row">
                <Anchor component={Link} to={`/values/${site}`}>
                  {site}
                </Anchor>
                {held && ' (keeps the values that it has)'}
              </Table.Th>
              <Table.Td>{labelText(labels)}</Table.Td>
              <Table.Td>
                {agents.map(({ agent, channel, labels: own }) => (
                  <div key={agent}>
                    <Anchor component={Link} to={`/values/${site}?agent=${agent}`}>
                      {agent}
                    </Anchor>{' '}
                    {channel} {labelText(ownLabels(own, labels))}
                  </div>
                ))}
              </Table.Td>
            </Table.Tr>
          ))}
        </Wide>
        <Pages next={tree.next} />
      </section>
    </>
  );
};

/** Differences between what the repository declares and what is enrolled, and layers and values without effect. They hold no release or value back. */
const Advice = ({ of: { advice = [], advised = 0 } }: { readonly of: ValuesTree }) =>
  advice.length === 0 ? null : (
    <section aria-labelledby="advice">
      <Title order={2} id="advice">
        Advice
      </Title>
      <Text>It holds no release and no value back.</Text>
      <List mt="xs">
        {advice.map(({ message, hint, file, line }) => (
          <List.Item key={message}>
            {message}.
            <Text size="sm" className="source">
              {file !== undefined && <Code>{`${file}${line === undefined ? '' : `:${line}`}`}</Code>} {hint}
            </Text>
          </List.Item>
        ))}
      </List>
      {advised > advice.length && (
        <Text>
          And {advised - advice.length} more: <Code>fleet-scheduler sites compose --dry-run</Code>
        </Text>
      )}
    </section>
  );

/** Labels of an agent that its site does not show already. */
const ownLabels = (own: Labels, labels: Labels): Labels =>
  Object.fromEntries(Object.entries(own).filter(([name, value]) => labels[name] !== value));

type Labels = Readonly<Record<string, string>>;

/** Whether a layer selects by all labels of another one. */
const isWithin = (layer: Layer, selector: Readonly<Record<string, string>>): boolean =>
  Object.entries(selector).every(([key, value]) => layer.siteSelector[key] === value);

const size = ({ siteSelector }: Layer): number => Object.keys(siteSelector).length;

type LayersProps = { readonly layers: readonly Layer[]; readonly below: Readonly<Record<string, string>> };

/** A tree of layers, such as company, region, site and line: below a layer are those that select by its labels and by others too. */
const Layers = ({ layers, below }: LayersProps) => {
  const inside = layers.filter((one) => isWithin(one, below));
  const top = inside.filter(
    (one) =>
      !inside.some((other) => other !== one && size(other) < size(one) && isWithin(one, other.siteSelector)),
  );
  if (top.length === 0) return null;
  const bySelector = Map.groupBy(top, ({ siteSelector }) => JSON.stringify(siteSelector));
  return (
    <ul className="layers">
      {[...bySelector].map(([key, own]) => {
        const siteSelector = own[0]?.siteSelector ?? {};
        const rest = inside.filter((one) => !top.includes(one) && isWithin(one, siteSelector));
        const names = labelText(siteSelector);
        return (
          <li key={key}>
            <Anchor component={Link} to={`/values?select=${encodeURIComponent(names)}`}>
              {names === '' ? 'All sites' : names}
            </Anchor>{' '}
            ({formatCount(own[0]?.sites ?? 0, 'site')})
            {own.map((layer) => (
              <details key={layer.name}>
                <summary>
                  {layer.name}
                  {layer.fixed && ', fixed'}: {Object.keys(layer.values).join(', ')}
                </summary>
                <Text size="sm">
                  {layer.file}
                  {layer.line === null ? '' : `:${layer.line}`}
                  {labelText(layer.selector) === '' ? '' : `, only for ${labelText(layer.selector)}`}
                </Text>
                <Code block tabIndex={0}>
                  {JSON.stringify(layer.values, null, 2)}
                </Code>
              </details>
            ))}
            <Layers layers={rest} below={siteSelector} />
          </li>
        );
      })}
    </ul>
  );
};

const Review = ({ proposals: { at, proposals } }: { readonly proposals: ValuesProposals }) =>
  proposals.length === 0 ? null : (
    <section aria-labelledby="review">
      <Title order={2} id="review">
        Waiting for review
      </Title>
      {proposals.map((one) => (
        <Waiting key={one.id} proposal={one} now={at} />
      ))}
    </section>
  );

/** Maximum number of values, and of sites, that a title names. */
const NAMED = 3;

/** 'maxCelsius at plant-5'. */
const titleOf = (changes: Proposal['changes']): string => {
  const distinct = (names: readonly string[]): string => nameSome([...new Set(names)], NAMED);
  return `${distinct(changes.map(({ name }) => name))} at ${distinct(changes.map(({ site }) => site))}`;
};

const Waiting = ({ proposal, now }: { readonly proposal: Proposal; readonly now: string }) => {
  const { id, person, reason, at, changes, conditions, rejectable } = proposal;
  const short = shortDigest(id);
  return (
    <section aria-label={`Proposal ${short}`}>
      <Title order={3}>{titleOf(changes)}</Title>
      <Text>
        <Code>{short}</Code> {person}, <Age at={at} now={now} />
        {reason === null ? '' : `: ${reason}`}
      </Text>
      <ChangedValues label={`Changes of ${short}`} changes={changes} />
      {conditions.map(({ name, met, found, wanted, holding }) => (
        <Text key={name}>
          {name}: {found} ({met ? 'met' : `wanted: ${wanted}`}) {holding.join('; ')}
        </Text>
      ))}
      <Text>
        Somebody else approves it with their own key, which the hub does not have:{' '}
        <Code>fleet-scheduler sites values approve {short} --key your.key --person you</Code>
      </Text>
      {rejectable && (
        <WithReason
          title="Reject"
          what={`Reject ${short}`}
          object={id}
          decide={async (why, key) => {
            const body = { proposal: id, reason: why };
            await send((options) => valuesReject({ valuesReject: body }, options), { key });
          }}
        />
      )}
    </section>
  );
};
