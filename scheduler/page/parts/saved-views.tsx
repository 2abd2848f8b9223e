import { Anchor, Button, CloseButton, Group, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Link, useLocation } from 'react-router';
import { keepView, readViews, type SavedView } from '../api/saved-views.ts';

/** Views that a person named, and a field that names this one. They stay in this browser. */
export const SavedViews = () => {
  const { pathname, search } = useLocation();
  const [all, setAll] = useState<readonly SavedView[]>(readViews);
  const [isNaming, setNaming] = useState(false);
  const here = `${pathname}${search}`;
  const own = all.filter(({ to }) => to.split('?')[0] === pathname);
  const isKnown = own.some(({ to }) => to === here);
  const save = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const name = new FormData(event.currentTarget).get('name');
    if (typeof name !== 'string' || name.trim() === '') return;
    setAll(keepView({ name: name.trim(), to: here }));
    setNaming(false);
  };
  if (own.length === 0 && search === '') return null;
  return (
    <Group gap="xs" my="xs" component="section" aria-label="Saved views">
      {own.map(({ name, to }) => (
        <Group key={name} gap={2} className="saved">
          <Anchor component={Link} to={to} size="sm" aria-current={to === here ? 'page' : undefined}>
            {name}
          </Anchor>
          <CloseButton
            size="xs"
            aria-label={`Forget the view ${name}`}
            onClick={() => setAll(keepView({ name, to: null }))}
          />
        </Group>
      ))}
      {search !== '' && !isKnown && !isNaming && (
        <Button size="compact-xs" variant="subtle" onClick={() => setNaming(true)}>
          Save this view
        </Button>
      )}
      {isNaming && (
        <form onSubmit={save}>
          <Group gap="xs">
            <TextInput
              name="name"
              aria-label="Name of this view"
              size="xs"
              maxLength={60}
              required
              data-autofocus
            />
            <Button type="submit" size="xs">
              Save
            </Button>
          </Group>
        </form>
      )}
    </Group>
  );
};
