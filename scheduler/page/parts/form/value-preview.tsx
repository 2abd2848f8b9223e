import { Alert, List, Text } from '@mantine/core';
import { formatCount } from '#bundles/format-count';
import type { ValuesChanged, ValuesPreview } from '#bundles/schemas/types/hub-decisions';
import { BAD } from '../bad.ts';
import { ChangedValues } from '../changed-values.tsx';
import { shortDigest } from '../digest.tsx';

/** What became of a change that was sent. */
export const Done = ({ changed }: { readonly changed: ValuesChanged }) => (
  <Alert
    role="status"
    variant="default"
    mt="md"
    title={changed.outcome === 'proposed' ? 'Submitted for review' : 'Done'}
  >
    {describeDone(changed)}
  </Alert>
);

const describeDone = ({ outcome, sites, rollouts, proposal, repository }: ValuesChanged): string => {
  switch (outcome) {
    case 'written': {
      const { place, pullRequest = null, proposal: branch = null } = repository ?? {};
      const proposed = pullRequest ?? branch;
      return proposed === null
        ? `It is a commit in ${place}. The sites get it with the next build.`
        : `It is proposed in ${place}: ${proposed}. The sites get it once it is merged and built.`;
    }
    case 'proposed':
      return `The change waits for approval as ${shortDigest(proposal ?? '')}. Nothing was changed yet.`;
    case 'unchanged':
      return 'Nothing differed.';
    case 'made': {
      const signed = sites.map(({ site, version }) => `${site} is at statement ${version}`).join(', ');
      const staged = rollouts.length > 0 ? ' A rollout brings the change to agents in stages.' : '';
      return `${signed === '' ? '' : `${signed}. Agents take it from the network or the next medium.`}${staged}`;
    }
  }
};

/** Sites whose packages are listed at once. */
const FEW = 10;

const Packages = ({ of }: { readonly of: ValuesPreview['sites'] }) =>
  of.map(({ site, packages }) => (
    <Text key={site}>
      {packages.length === 0
        ? `No package at ${site} takes a value that changes.`
        : `Applied again at ${site}: ${packages.map(({ agent, assignment, names }) => `${assignment} on ${agent} (${names.join(', ')})`).join('; ')}.`}
    </Text>
  ));

/** The sites and packages that a change reaches, old and new, and what speaks against it. */
export const Previewed = ({
  preview: { sites, faults, warnings, review },
}: {
  readonly preview: ValuesPreview;
}) => (
  <>
    {faults.length > 0 && (
      <Alert role="alert" variant="default" classNames={BAD} title="This change cannot be made">
        <List>
          {faults.map(({ site, agent, name, code, message }) => (
            <List.Item key={`${site} ${agent} ${name} ${message}`}>
              {agent === null ? site : `${site}/${agent}`}, {code}: {message}
            </List.Item>
          ))}
        </List>
      </Alert>
    )}
    {sites.length === 0 && faults.length === 0 && <Text>Nothing differs from what is there.</Text>}
    {sites.length > 0 && (
      <ChangedValues
        label="Values that change"
        changes={sites.flatMap(({ site, changes }) => changes.map((one) => ({ site, ...one })))}
      />
    )}
    {sites.length <= FEW ? (
      <Packages of={sites} />
    ) : (
      <details>
        <summary>Packages that are applied again at these {sites.length} sites</summary>
        <Packages of={sites} />
      </details>
    )}
    {warnings.map(({ agent, assignment, name, message }) => (
      <Alert
        key={`${agent} ${assignment} ${name}`}
        role="status"
        variant="default"
        classNames={BAD}
        my="xs"
        title={`${assignment} on ${agent} would not be applied any more`}
      >
        {message}
      </Alert>
    ))}
    {review.map(({ name, required }) => (
      <Text key={name}>
        It needs {formatCount(required, 'approval')} of others
        {name === 'approvals' ? '' : ` (${name})`}.
      </Text>
    ))}
  </>
);
