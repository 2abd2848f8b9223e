import { Alert, Button, PasswordInput, Text, Title } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { Refusal, send } from '../api/ask.ts';
import { keepToken } from '../api/session.ts';

/** Asks for a reader's token and tries it. It stays in this tab and ends with it. */
export const SignIn = () => {
  const [query] = useSearchParams();
  const navigate = useNavigate();
  const [fault, setFault] = useState<string>();
  const [isTrying, setTrying] = useState(false);

  const enter = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const given = new FormData(event.currentTarget).get('token');
    const token = typeof given === 'string' ? given.trim() : '';
    setTrying(true);
    setFault(undefined);
    try {
      await send('/v1/status?limit=1', { token });
      keepToken(token);
      const to = query.get('to') ?? '/';
      // Only an address of this page: "//elsewhere" would be another site.
      await navigate(/^\/(?![/\\])/.test(to) ? to : '/', { replace: true });
    } catch (error) {
      setFault(error instanceof Refusal ? error.message : String(error));
    } finally {
      setTrying(false);
    }
  };

  return (
    <main className="sign-in">
      <title>Sign in - Fleet Ferry</title>
      <Title order={1}>Fleet Ferry</Title>
      <form onSubmit={(event) => void enter(event)}>
        <PasswordInput
          name="token"
          label="Token"
          description="A reader's token of this hub. It stays in this tab until you close it."
          autoComplete="off"
          required
          withAsterisk={false}
          visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
        />
        <Button type="submit" mt="md" loading={isTrying}>
          Sign in
        </Button>
      </form>
      {fault !== undefined && (
        <Alert role="alert" mt="md" variant="outline" color="red" title="Not signed in">
          <Text>{fault}</Text>
        </Alert>
      )}
      <Text mt="md">
        <code>fleet-scheduler tokens create --reader</code> on the hub makes a token.
      </Text>
    </main>
  );
};
