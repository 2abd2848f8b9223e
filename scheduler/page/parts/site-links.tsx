import { Anchor } from '@mantine/core';
import { Fragment } from 'react';
import { Link } from 'react-router';

/** Sites that are named; the others are counted. */
const NAMED = 5;

/** The first names, each a link to its site, and how many there are more. */
export const SiteLinks = ({ of }: { readonly of: readonly string[] }) => (
  <>
    {of.length === 0 && 'nothing'}
    {of.slice(0, NAMED).map((site, at) => (
      <Fragment key={site}>
        {at > 0 && ', '}
        <Anchor component={Link} to={`/sites/${encodeURIComponent(site)}`} className="whole">
          {site}
        </Anchor>
      </Fragment>
    ))}
    {of.length > NAMED && ` and ${of.length - NAMED} more`}
  </>
);
