import { Anchor, Loader, Text } from '@mantine/core';
import { Link } from 'react-router';
import { defined } from '#bundles/defined';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import { formatBytes } from '#cli/format-bytes';
import type { NextMedium } from '#bundles/schemas/types/hub-decisions';
import { nextMedium } from '#bundles/transport/hub/client';
import { Refusal, send } from '../api/ask.ts';
import { useAnswer } from '../api/use-answer.ts';
import { State } from './state.tsx';

type Props = {
  readonly channel: string;
  /** undefined: all sites. */
  readonly site: string | undefined;
};

/** What the next medium of a channel would carry, and its size, as fleet-export would plan it from what the hub knows. */
export const NextContent = ({ channel, site }: Props) => {
  const answer = useAnswer({
    id: `${channel} ${site ?? ''}`,
    read: (signal) => send((options) => nextMedium(defined({ channel, site }), options), { signal }),
  });
  if (answer === undefined) return <Loader size="sm" aria-label={`Planning the medium of ${channel}`} />;
  if (answer instanceof Refusal) return <Text size="sm">Its content is not known: {answer.message}</Text>;
  return <Content of={answer} />;
};

const Content = ({ of }: { readonly of: NextMedium }) => {
  const { carried, assumed, agents, sites, unknown, moreUnknown, packages, morePackages } = of;
  const unknowns = unknown.length + moreUnknown;
  return (
    <>
      <Text>
        <strong>{formatBytes(carried)}</strong> for {formatCount(agents, 'agent')} at{' '}
        {formatCount(sites, 'site')}
        {assumed > 0 && <>; {formatBytes(assumed)} are left out, because each of them has it</>}
      </Text>
      {unknowns > 0 && (
        <Text size="sm">
          Nothing is left out: what {nameSome(unknown, 3, unknowns)} {unknowns === 1 ? 'has' : 'have'} is not
          known.
        </Text>
      )}
      <ul className="content">
        {packages.map(({ assignment, workload, name, isNew }) => (
          <li key={assignment}>
            {workload === null ? (
              name
            ) : (
              <Anchor component={Link} size="sm" to={`/workloads/${encodeURIComponent(workload)}`}>
                {name}
              </Anchor>
            )}{' '}
            {isNew && <State mood="late">new there</State>}
          </li>
        ))}
        {morePackages > 0 && <li>and {formatCount(morePackages, 'more package')}</li>}
      </ul>
    </>
  );
};
