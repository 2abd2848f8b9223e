import { Alert, Anchor, Button, Text } from '@mantine/core';
import { Link, NavLink, Outlet, useNavigate, useNavigation } from 'react-router';
import { signOut as endSession } from '#bundles/transport/hub/client';
import { send } from '../api/ask.ts';
import { useLive } from '../api/live.ts';
import { useMe } from '../api/me.ts';
import { dropToken, readToken } from '../api/session.ts';

const VIEWS = [
  ['/', 'Sites'],
  ['/workloads', 'Workloads'],
  ['/where', 'What runs where'],
  ['/values', 'Values'],
  ['/compare', 'Compare'],
  ['/pipeline', 'Pipeline'],
  ['/rollouts', 'Rollouts'],
  ['/media', 'Media'],
  ['/alarms', 'Alarms'],
  ['/audit', 'Audit log'],
  ['/sessions', 'Sessions'],
  ['/platform', 'Platform'],
  ['/search', 'Search'],
] as const;

/** Frame of all views: a link past the header, the list of views, and signing out. */
export const Shell = () => {
  const { state } = useNavigation();
  const navigate = useNavigate();
  const { isStale } = useLive();
  const me = useMe();
  const signOut = async (): Promise<void> => {
    if (readToken() === null) await send((options) => endSession({}, options));
    dropToken();
    await navigate('/sign-in');
  };
  return (
    <>
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="header">
        <Anchor component={Link} to="/" className="name">
          Fleet Ferry
        </Anchor>
        <nav aria-label="Views">
          {VIEWS.map(([to, title]) => (
            <NavLink key={to} to={to} end className="view">
              {title}
            </NavLink>
          ))}
        </nav>
        {me !== undefined && me.person !== null && <Text size="sm">{me.person}</Text>}
        <Button variant="default" size="xs" onClick={() => void signOut()}>
          Sign out
        </Button>
      </header>
      {me?.breakGlass.map(({ person, reason, until }) => (
        <Alert key={`${person} ${until}`} role="status" variant="default" title="Break-glass admin">
          {person} is signed in as an admin with a break-glass code until{' '}
          <time dateTime={until}>{until}</time>: {reason}
        </Alert>
      ))}
      {isStale && (
        <Alert role="status" variant="default" title="The hub was upgraded">
          This tab has the page of the version before. What you typed stays here until you reload.{' '}
          <Button size="xs" variant="default" onClick={() => location.reload()}>
            Reload
          </Button>
        </Alert>
      )}
      <main id="content" tabIndex={-1} aria-busy={state === 'loading'}>
        <Outlet />
      </main>
    </>
  );
};
