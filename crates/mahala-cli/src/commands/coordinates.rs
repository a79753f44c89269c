//! Rows in the coordinates of a model, in the precision that their file has them in.

use crate::commands::dataset::{rows, transformed};
use anyhow::Result;
use mahala::data::{Cells, Embeddings};
use mahala::embeddings::Adaptation;
use mahala::{MatRef, Model, Rows};
use mahala_io::Table;
use mahala_io::table_writer::{Columns, Holds};

/// A model that is applied to many blocks of rows.
pub(crate) struct Coordinates<'a> {
    model: &'a Model,
    /// What the model is, if it was adapted: its map has a rounding of its own.
    adaptation: Option<Adaptation>,
    single: bool,
}

impl<'a> Coordinates<'a> {
    /// Coordinates in single precision for rows that are; kernels always have double precision.
    pub(crate) fn new(model: &'a Model, single: bool) -> Result<Self> {
        let adapted = model.params["method"] == "embeddings";
        let adaptation = adapted.then(|| Adaptation::from_model(model)).transpose()?;
        Ok(Self { model, adaptation, single: single && model.kernel.is_none() })
    }

    /// What a column of them holds.
    pub(crate) fn holds(&self) -> Holds {
        if self.single { Holds::Singles } else { Holds::Numbers }
    }

    /// The coordinates of a whole table; the cells are taken out of it.
    pub(crate) fn of_table(&self, table: &mut Table) -> Result<Columns> {
        if !self.single && (self.adaptation.is_none() || table.sparse.is_some()) {
            let z = transformed(self.model, table)?;
            let columns = z.columns();
            return Ok(Columns::Numbers(z.into_values(), columns));
        }
        self.of_rows(&rows(table)?)
    }

    /// The coordinates of some rows.
    pub(crate) fn of_rows(&self, rows: &Rows) -> Result<Columns> {
        let columns = rows.columns();
        if self.single {
            return self.of_single(rows.values().iter().map(|&x| x as f32).collect(), columns);
        }
        if let Some(adaptation) = &self.adaptation {
            return mapped(adaptation, &Embeddings::from(rows));
        }
        let z = self.model.transform(rows)?;
        let columns = z.columns();
        Ok(Columns::Numbers(z.into_values(), columns))
    }

    fn of_single(&self, cells: Vec<f32>, columns: usize) -> Result<Columns> {
        if let Some(adaptation) = &self.adaptation {
            return mapped(adaptation, &Embeddings::single(cells, columns)?);
        }
        let rows = MatRef::from_row_major_slice(&cells, cells.len() / columns, columns);
        let mut z = self.model.metric.transform_single(rows)?;
        let columns = self.model.metric.rank();
        self.model.similarity().single_coordinates(&mut z, columns);
        Ok(Columns::Singles(z, columns))
    }
}

fn mapped(adaptation: &Adaptation, rows: &Embeddings) -> Result<Columns> {
    let z = adaptation.transform(rows)?;
    let columns = z.columns();
    Ok(match z.cells() {
        Cells::Single(cells) => Columns::Singles((**cells).as_ref().to_vec(), columns),
        _ => Columns::Numbers((0..z.len()).flat_map(|i| z.row(i)).collect(), columns),
    })
}

/// Some neighbouring rows of coordinates.
pub(crate) fn part(coordinates: &Columns, rows: std::ops::Range<usize>) -> Columns {
    match coordinates {
        Columns::Numbers(z, k) => Columns::Numbers(z[rows.start * k..rows.end * k].to_vec(), *k),
        Columns::Singles(z, k) => Columns::Singles(z[rows.start * k..rows.end * k].to_vec(), *k),
        other => other.clone(),
    }
}
