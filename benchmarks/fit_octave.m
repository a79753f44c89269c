% One GMML fit as the paper writes it, from rows and labels over all pairs, or over a list of pairs.
% Usage: octave --no-gui --quiet benchmarks/fit_octave.m ROWS.npy LABELS.npy [PAIRS.npy]
% Prints one JSON line: least and median wall and CPU seconds of three fits, after one that warms up.
%
% Formula (Algorithm 1, t = 1/2):
% (pairs of a list: 0.1 is added to both diagonals, as the paper does where S is singular)
%   A = S^-1 #_t D,   X #_t Y = X^(1/2) (X^(-1/2) Y X^(-1/2))^t X^(1/2), by a Cholesky factor of X

1;
crash_dumps_octave_core(false); % a run that is stopped leaves nothing behind

function x = read_npy(name, type)
  file = fopen(name, 'r');
  fread(file, 8, 'uint8');
  length = fread(file, 1, 'uint16');
  header = char(fread(file, length, 'uint8')');
  shape = sscanf(regexprep(header, '.*\((.*)\).*', '$1'), '%d,')';
  if numel(shape) == 1, shape = [shape 1]; end
  x = fread(file, fliplr(shape), type)';
  fclose(file);
end

function a = sharp(x, y, t)
  r = chol(x);
  [u, v] = eig((r' \ y) / r, 'vector');
  w = r' * u;
  a = w * diag(max(real(v), 0) .^ t) * w';
end

function [s, d] = sums_of_pairs(x, pairs)
  similar = pairs(:, 3) == 1;
  e = x(pairs(similar, 1) + 1, :) - x(pairs(similar, 2) + 1, :);
  s = e' * e;
  e = x(pairs(!similar, 1) + 1, :) - x(pairs(!similar, 2) + 1, :);
  d = e' * e;
end

function [s, d] = sums_over_all(x, labels)
  [n, columns] = size(x);
  s = zeros(columns); d = zeros(columns);
  mean_of_all = mean(x);
  for c = unique(labels)'
    rows = x(labels == c, :);
    count = rows_of(rows);
    m = mean(rows);
    rows = rows - m;
    scatter = rows' * rows;
    s = s + count * scatter;
    d = d + (n - count) * scatter + n * count * (m - mean_of_all)' * (m - mean_of_all);
  end
end

function n = rows_of(x)
  n = size(x, 1);
end

files = argv();
x = read_npy(files{1}, 'double');
labels = read_npy(files{2}, 'int64');
columns = size(x, 2);
if numel(files) > 2, pairs = read_npy(files{3}, 'int64'); end
wall = cpu = zeros(1, 4);
for k = 1:4
  started = tic; before = cputime;
  if numel(files) > 2
    [s, d] = sums_of_pairs(x, pairs);
    s += 0.1 * eye(columns); d += 0.1 * eye(columns);
  else
    [s, d] = sums_over_all(x, labels);
  end
  a = sharp(inv(s), d, 0.5);
  wall(k) = toc(started); cpu(k) = cputime - before;
end
wall = wall(2:4); cpu = cpu(2:4);
printf('{"edition": "octave", "version": "%s", "wall_min": %g, "wall_median": %g, "cpu_min": %g, "cpu_median": %g, "trace_a": %.15g}\n', ...
  version(), min(wall), median(wall), min(cpu), median(cpu), trace(a));
