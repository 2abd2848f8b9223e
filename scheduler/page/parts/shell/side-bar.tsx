import { NavLink } from '@mantine/core';
import { Link, useLocation } from 'react-router';
import { Icon } from './icon.tsx';
import { PLACES, placeOf } from './places.ts';
import { useScope } from './scope.tsx';

type Props = {
  /** After a link was followed. */
  readonly onLeave?: () => void;
};

/** The list of views. */
export const SideBar = ({ onLeave }: Props) => {
  const { pathname } = useLocation();
  const scope = useScope();
  const here = placeOf(pathname);
  return PLACES.map(({ title, places }) => (
    <div key={title} className="places">
      {title !== null && <p>{title}</p>}
      {places.map((place) => (
        <NavLink
          key={place.to}
          component={Link}
          to={place.isScoped === true ? `${place.to}${scope}` : place.to}
          label={place.title}
          leftSection={<Icon name={place.icon} />}
          active={place === here}
          aria-current={place === here ? 'page' : undefined}
          onClick={onLeave}
        />
      ))}
    </div>
  ));
};
