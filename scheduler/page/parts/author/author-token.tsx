import { Button, PasswordInput, Text } from '@mantine/core';
import type { FormEvent } from 'react';
import { useRevalidator } from 'react-router';
import { keepDecider } from '../../api/session.ts';

/** Asks the holder of a reader's token for the token of a person who may edit. */
export const AuthorToken = () => {
  const { revalidate } = useRevalidator();
  const take = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get('token');
    if (typeof token !== 'string') return;
    keepDecider(token.trim());
    void revalidate();
  };
  return (
    <form onSubmit={take}>
      <Text>The token of this tab only reads.</Text>
      <PasswordInput
        name="token"
        mt="sm"
        label="Token of a person"
        description="One that allows author:*, or author:<environment>; it stays in this tab."
        autoComplete="off"
        required
        withAsterisk={false}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
      />
      <Button type="submit" mt="md">
        Continue
      </Button>
    </form>
  );
};
