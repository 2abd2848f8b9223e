import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { Overview } from '#bundles/schemas/types/hub-decisions';
import { Age } from '../age.tsx';
import { Shape } from '../state.tsx';
import { nameCause, toneOfCause } from './fleet-site.ts';

/** Causes that are shown at first. */
const FIRST = 8;

type Props = Pick<Overview, 'causes' | 'at'> & { readonly scope: string };

/** The problems of the fleet, one line for each cause, with a link to its sites. */
export const Problems = ({ causes, at, scope }: Props) => {
  if (causes.length === 0) return <Text>No site has a problem.</Text>;
  const line = (cause: Overview['causes'][number]) => (
    <Problem key={nameCause(cause)} cause={cause} at={at} scope={scope} />
  );
  return (
    <>
      <ul className="problems">{causes.slice(0, FIRST).map(line)}</ul>
      {causes.length > FIRST && (
        <details>
          <summary>{causes.length - FIRST} more causes</summary>
          <ul className="problems">{causes.slice(FIRST).map(line)}</ul>
        </details>
      )}
    </>
  );
};

type ProblemProps = {
  readonly cause: Overview['causes'][number];
  readonly at: string;
  readonly scope: string;
};

const Problem = ({ cause, at, scope }: ProblemProps) => {
  const { kind, sites, since, recent, message, examples } = cause;
  const name = nameCause(cause);
  const query = new URLSearchParams(scope);
  query.set('cause', name);
  const [first] = examples;
  return (
    <li>
      <Shape tone={toneOfCause(kind)} />
      <div>
        <Anchor component={Link} to={`/sites?${query}`} fw={600}>
          {name}
        </Anchor>{' '}
        at {sites.length === 1 && first !== undefined ? <Example of={first} /> : `${sites.length} sites`}
        <Text size="sm" c="dimmed" component="div" className="message">
          {message !== null && <span className="clamped">{message}</span>}
          {since !== null && (
            <span>
              since <Age at={since} now={at} />
              {recent > 0 && recent < cause.assignments && `, ${recent} of the last day`}
            </span>
          )}
        </Text>
      </div>
    </li>
  );
};

const Example = ({
  of: { site, agent, assignment },
}: {
  readonly of: Overview['causes'][number]['examples'][number];
}) => (
  <Anchor component={Link} to={`/sites/${site}${assignment === null ? '' : `/${agent}/${assignment}`}`}>
    {site}
  </Anchor>
);
