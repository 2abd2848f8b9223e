import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { TONES } from '../tone.ts';
import { describeSite, type FleetSite } from './fleet-site.ts';

/** Sides of a cell in pixels; the largest at which all cells fit into HEIGHT is taken. */
const SIDES = [22, 18, 14, 11, 9, 7, 6];
const HEIGHT = 240;
/** Smallest side at which shapes are drawn. */
const SHAPED = 9;
const HOUR_MS = 3_600_000;

type Props = {
  readonly sites: readonly FleetSite[];
  /** The hub's time, in ms. */
  readonly now: number;
  /** Sites of the whole picture: all groups have cells of one size. */
  readonly total: number;
};

/** A cell for each site: the colour and shape of its worst state, smaller the older its last word is. The table of sites has the same for keyboards and screen readers. */
export const SiteGrid = ({ sites, now, total }: Props) => {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false });
  const navigate = useNavigate();
  useEffect(() => {
    const place = canvas.current?.parentElement;
    if (!place) return undefined;
    const observer = new ResizeObserver(() => setWidth(place.clientWidth));
    observer.observe(place);
    return () => observer.disconnect();
  }, []);
  const side = sideFor(total, width);
  const columns = Math.max(1, Math.floor(width / side));
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, { sites, now, side, columns });
  }, [sites, now, side, columns, width, scheme]);
  const siteAt = (x: number, y: number): FleetSite | undefined =>
    x >= columns * side ? undefined : sites[Math.floor(y / side) * columns + Math.floor(x / side)];
  return (
    <div className="cells" aria-hidden="true">
      <canvas
        ref={canvas}
        onMouseMove={({ currentTarget, nativeEvent: { offsetX, offsetY } }) => {
          const site = siteAt(offsetX, offsetY);
          currentTarget.title = site === undefined ? '' : `${site.name}: ${describeSite(site.judged)}`;
        }}
        onClick={({ nativeEvent: { offsetX, offsetY } }) => {
          const site = siteAt(offsetX, offsetY);
          if (site) void navigate(`/sites/${site.name}`);
        }}
      />
    </div>
  );
};

const sideFor = (total: number, width: number): number =>
  SIDES.find((side) => Math.ceil(total / Math.max(1, Math.floor(width / side))) * side <= HEIGHT) ?? 6;

type Drawn = Pick<Props, 'sites' | 'now'> & { readonly side: number; readonly columns: number };

const draw = (canvas: HTMLCanvasElement, { sites, now, side, columns }: Drawn): void => {
  const [width, height] = [columns * side, Math.ceil(sites.length / columns) * side];
  const ratio = window.devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext('2d');
  if (!pen) return;
  pen.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colors = new Map(TONES.map((tone) => [tone, style.getPropertyValue(`--${tone}`)]));
  const paper = style.getPropertyValue('--mantine-color-body');
  for (const [at, site] of sites.entries()) {
    const gap = side > 8 ? 2 : 1;
    const inset = insetOf(site.saidAt, now) * (side - gap);
    const [x, y] = [(at % columns) * side + inset, Math.floor(at / columns) * side + inset];
    const size = side - gap - 2 * inset;
    pen.fillStyle = colors.get(site.tone) ?? paper;
    pen.fillRect(x, y, size, size);
    if (side < SHAPED) continue;
    pen.strokeStyle = paper;
    pen.lineWidth = Math.max(1.2, side / 9);
    pen.beginPath();
    const [near, far] = [size * 0.28, size * 0.72];
    if (site.tone === 'bad') {
      pen.moveTo(x + near, y + near);
      pen.lineTo(x + far, y + far);
      pen.moveTo(x + far, y + near);
      pen.lineTo(x + near, y + far);
    } else if (site.tone === 'late') {
      pen.moveTo(x + size / 2, y + near);
      pen.lineTo(x + far, y + far);
      pen.lineTo(x + near, y + far);
      pen.closePath();
    } else if (site.tone === 'quiet') pen.arc(x + size / 2, y + size / 2, size / 5, 0, 2 * Math.PI);
    pen.stroke();
  }
};

/** Share of a cell that is left empty on each side. */
const insetOf = (saidAt: number | null, now: number): number => {
  if (saidAt === null) return 0.25;
  const hours = (now - saidAt) / HOUR_MS;
  if (hours < 24) return 0;
  return hours < 24 * 7 ? 0.1 : 0.18;
};
