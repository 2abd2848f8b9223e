import { Button, Group } from '@mantine/core';
import { Link, useSearchParams } from 'react-router';

/** Link to the next page. Each page has an address, so the browser's Back button returns. */
export const Pages = ({ next }: { readonly next: string | null }) => {
  const [query] = useSearchParams();
  const link = (cursor: string | null): string => {
    const copy = new URLSearchParams(query);
    copy.delete('cursor');
    if (cursor !== null) copy.set('cursor', cursor);
    return `?${copy}`;
  };
  return (
    <Group component="nav" aria-label="Pages" my="md">
      {query.has('cursor') && (
        <Button component={Link} to={link(null)} variant="default">
          First page
        </Button>
      )}
      {next !== null && (
        <Button component={Link} to={link(next)} variant="default">
          Next page
        </Button>
      )}
    </Group>
  );
};
