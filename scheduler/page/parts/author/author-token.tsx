import { Button, Text } from '@mantine/core';
import type { FormEvent } from 'react';
import { useRevalidator } from 'react-router';
import { NO_PLATFORM, type NoAuthor } from '../../api/author.ts';
import { keepDecider } from '../../api/session.ts';
import { TokenField } from '../token-field.tsx';

/** Why nothing is shown, and what to do. */
export const NotAuthor = ({ why }: { readonly why: NoAuthor }) =>
  why === NO_PLATFORM ? (
    <Text>
      This hub has no platform. Run fleet-scheduler setup forge at the hub, or set platform: in
      fleet-scheduler.yaml to the Git URL of its repository.
    </Text>
  ) : (
    <AuthorToken />
  );

/** Asks the holder of a reader's token for the token of a person who may edit. */
const AuthorToken = () => {
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
      <TokenField
        mt="sm"
        label="Token of a person"
        description="One that allows author:*, or author:<environment>; it stays in this tab."
      />
      <Button type="submit" mt="md">
        Continue
      </Button>
    </form>
  );
};
