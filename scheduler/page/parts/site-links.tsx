import { Anchor } from '@mantine/core';
import { Fragment } from 'react';
import { Link } from 'react-router';

/** Names that a row has; the others are counted. */
export const NAMED = 5;

/** The first sites by name, each a link, and the number of the others. */
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
