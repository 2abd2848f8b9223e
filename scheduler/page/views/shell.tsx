import { Alert, Anchor, Breadcrumbs, Burger, Button, Drawer, Text } from '@mantine/core';
import { Fragment, useState } from 'react';
import { Link, Outlet, useLocation, useNavigate, useNavigation } from 'react-router';
import { signOut as endSession } from '#bundles/transport/hub/client';
import { send } from '../api/ask.ts';
import { useLive } from '../api/live.ts';
import { useMe } from '../api/me.ts';
import { dropToken, readToken } from '../api/session.ts';
import { forgetTyped, typistOf } from '../api/typed.ts';
import { At } from '../parts/age.tsx';
import { Palette } from '../parts/shell/palette.tsx';
import { crumbsOf } from '../parts/shell/places.ts';
import { Scope } from '../parts/shell/scope.tsx';
import { Settings } from '../parts/shell/settings.tsx';
import { SideBar } from '../parts/shell/side-bar.tsx';

/**
 * Frame of all views: header, side bar and breadcrumb. A grid of theme.css holds them: Mantine's AppShell writes its sizes into a style
 * element, which the content security policy of the page forbids.
 */
export const Shell = () => {
  const { state } = useNavigation();
  const navigate = useNavigate();
  const { isStale } = useLive();
  const me = useMe();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const signOut = async (): Promise<void> => {
    // First: also if the hub does not answer, nobody else finds it.
    forgetTyped();
    if (readToken() === null) await send((options) => endSession({}, options));
    dropToken();
    await navigate('/sign-in');
  };
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="header">
        <Burger
          className="narrow-only"
          size="sm"
          opened={isMenuOpen}
          onClick={() => setMenuOpen(true)}
          aria-label="All views"
        />
        <Anchor component={Link} to="/" className="name">
          Fleet Ferry
        </Anchor>
        <Scope />
        <Palette />
        <div className="person">
          {me !== undefined && me.person !== null && (
            <Text size="sm" className="wide-only">
              {me.person}
            </Text>
          )}
          <Settings />
          <Button variant="default" size="xs" onClick={() => void signOut()}>
            Sign out
          </Button>
        </div>
      </header>
      <nav className="side" aria-label="Views">
        <SideBar />
      </nav>
      <Drawer
        opened={isMenuOpen}
        onClose={() => setMenuOpen(false)}
        title="Views"
        size="16rem"
        // Scroll locking writes a style element, which the content security policy forbids.
        lockScroll={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <nav aria-label="Views">
          <SideBar onLeave={() => setMenuOpen(false)} />
        </nav>
      </Drawer>
      <main id="content" tabIndex={-1} aria-busy={state === 'loading'}>
        {me?.breakGlass.map(({ person, reason, until }) => (
          <Alert key={`${person} ${until}`} role="status" variant="default" title="Break-glass admin">
            {person} is signed in as an admin with a break-glass code until <At at={until} />: {reason}
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
        <Trail />
        {/* Of another person in this tab, each form begins anew. */}
        <Fragment key={me && typistOf(me)}>
          <Outlet />
        </Fragment>
      </main>
    </div>
  );
};

/** The way from the overview to this view. */
const Trail = () => {
  const { pathname } = useLocation();
  const crumbs = crumbsOf(pathname);
  if (crumbs.length < 2) return null;
  return (
    <nav aria-label="Breadcrumb">
      <Breadcrumbs className="trail" separatorMargin="xs">
        {crumbs.map(({ title, to }, at) =>
          to === undefined ? (
            <Text key={title} size="sm" aria-current={at === crumbs.length - 1 ? 'page' : undefined}>
              {title}
            </Text>
          ) : (
            <Anchor key={title} component={Link} to={to} size="sm">
              {title}
            </Anchor>
          ),
        )}
      </Breadcrumbs>
    </nav>
  );
};
