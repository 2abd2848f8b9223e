import { Alert, Button, Text, Title } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useNavigate, useSearchParams } from 'react-router';
import { isSignInFault, SIGN_IN_FAULTS } from '../../hub/people/sign-in-faults.ts';
import type { SignInOptions } from '#bundles/schemas/types/hub-decisions';
import { breakGlass, me, signInOptions } from '#bundles/transport/hub/client';
import { Refusal, send } from '../api/ask.ts';
import { keepToken } from '../api/session.ts';
import { TokenField } from '../parts/token-field.tsx';

/** Host name of the OIDC provider. Without one, people sign in with tokens. */
export const readSignIn = ({ request: { signal } }: LoaderFunctionArgs): Promise<SignInOptions> =>
  send(signInOptions, { signal, token: null }).catch(() => ({ provider: null }));

/** Sign-in by the hub's OIDC provider, by a reader's token, which is kept in this tab, or by a break-glass code. */
export const SignIn = () => {
  const { provider } = useLoaderData<SignInOptions>();
  const [query] = useSearchParams();
  const navigate = useNavigate();
  const why = query.get('fault');
  const [fault, setFault] = useState<string | undefined>(
    isSignInFault(why) ? SIGN_IN_FAULTS[why] : undefined,
  );
  const [isTrying, setTrying] = useState(false);
  const to = query.get('to') ?? '/';

  const enter = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const given = new FormData(event.currentTarget).get('token');
    const token = typeof given === 'string' ? given.trim() : '';
    setTrying(true);
    setFault(undefined);
    try {
      if (token.startsWith(CODE))
        await send((options) => breakGlass({ breakGlass: { code: token } }, options), { token: null });
      else {
        await send(me, { token });
        keepToken(token);
      }
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
      {provider !== null && (
        <Button component="a" href={`/v1/sign-in?to=${encodeURIComponent(to)}`} my="md">
          Sign in at {provider}
        </Button>
      )}
      {fault !== undefined && (
        <Alert role="alert" my="md" variant="default" title="Not signed in">
          <Text>{fault}</Text>
        </Alert>
      )}
      <form onSubmit={(event) => void enter(event)}>
        <TokenField
          label="Token"
          description="A reader's token of this hub, which stays in this tab until you close it, or a break-glass code."
        />
        <Button type="submit" mt="md" loading={isTrying} variant={provider === null ? 'filled' : 'default'}>
          Sign in
        </Button>
      </form>
      <Text mt="md">
        <code>fleet-scheduler tokens create --reader</code> on the hub makes a token.
      </Text>
    </main>
  );
};

/** Prefix of break-glass codes. */
const CODE = 'ffb_';
