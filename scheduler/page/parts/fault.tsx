import { Alert, Button, Text, Title } from '@mantine/core';
import { useRevalidator, useRouteError } from 'react-router';
import { Refusal } from '../api/ask.ts';

/** The error of a view: message, code and hint of the hub. */
export const Fault = () => {
  const error = useRouteError();
  const { revalidate, state } = useRevalidator();
  const isRefusal = error instanceof Refusal;
  const title = isRefusal ? error.code : 'The page failed';
  return (
    <Alert role="alert" variant="outline" color="red" title={title}>
      <title>{`${title} - Fleet Ferry`}</title>
      <Text>{error instanceof Error ? error.message : String(error)}</Text>
      {isRefusal && error.hint !== undefined && <Text>{error.hint}.</Text>}
      {!isRefusal && (
        <>
          <Text>A page from before an upgrade of the hub fails like this; reload it to get the new one.</Text>
          <Button mt="sm" mr="sm" onClick={() => location.reload()}>
            Reload
          </Button>
        </>
      )}
      <Button mt="sm" loading={state === 'loading'} onClick={() => void revalidate()}>
        Ask again
      </Button>
    </Alert>
  );
};

/** For an address that no view has. */
export const NotFound = () => (
  <>
    <title>No such view - Fleet Ferry</title>
    <Title order={1}>No such view</Title>
    <Text>This hub has no such view. Follow a link above.</Text>
  </>
);
