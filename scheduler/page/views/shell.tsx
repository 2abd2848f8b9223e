import { Anchor, Button } from '@mantine/core';
import { Link, NavLink, Outlet, useNavigate, useNavigation } from 'react-router';
import { useLive } from '../api/live.ts';
import { dropToken } from '../api/session.ts';

const VIEWS = [
  ['/', 'Sites'],
  ['/workloads', 'Workloads'],
  ['/where', 'What runs where'],
  ['/compare', 'Compare'],
  ['/pipeline', 'Pipeline'],
  ['/rollouts', 'Rollouts'],
  ['/media', 'Media'],
  ['/audit', 'Audit log'],
  ['/search', 'Search'],
] as const;

/** What all views have: a link past the header, the list of views, and signing out. */
export const Shell = () => {
  const { state } = useNavigation();
  const navigate = useNavigate();
  useLive();
  const signOut = () => {
    dropToken();
    void navigate('/sign-in');
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
        <Button variant="default" size="xs" onClick={signOut}>
          Sign out
        </Button>
      </header>
      <main id="content" tabIndex={-1} aria-busy={state === 'loading'}>
        <Outlet />
      </main>
    </>
  );
};
